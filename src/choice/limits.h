// SPDX-License-Identifier: BSD-3-Clause
// The sizes at which something changes and that no measured cost decides, each with what it weighs.
#pragma once

#include <array>
#include <cstddef>

#include "segment/desk.h"

namespace tutti::limits {

inline constexpr std::size_t kib = 1024;

// Between one way and another.

// malloc serves blocks from this size on from the commons, where peers reach them (the default of
// TUTTI_COMMONS_THRESHOLD). So members that meet for fewer bytes meet in vain, as a rule: what they
// then do is what they could have done at once.
inline constexpr std::size_t shared_bytes = 8 * kib;
// One kernel copy costs a system call and the pinning of pages. Below this size the segment is
// taken to be faster, where nobody has learned which one is.
inline constexpr std::size_t copied_bytes = 32 * kib;
// For results of at least this size it matters whether stores are plain or streaming. Smaller ones
// are read again before anything pushes them out of the caches.
inline constexpr std::size_t large_bytes = 16 * kib;
// Fewer bytes of a slot are as fast whether their readers hand them back or not.
inline constexpr std::size_t handed_back_bytes = 384;
// As soon as a member has posted so many bytes in a slot, it takes as many of its next slot back
// from the readers, to store there, where that was measured to gain five percent. For fewer that
// gains nothing, for more it costs.
inline constexpr std::size_t least_reserved_bytes = 192, most_reserved_bytes = 2 * kib;

// Pieces that pass through slots: a smaller one costs more in flags than it gains in overlap, and
// with a larger one nobody drains while somebody fills.

inline constexpr std::size_t least_bcast_piece_bytes = 4 * kib;
inline constexpr std::size_t most_bcast_piece_bytes = segment::staging_bytes / 2;
inline constexpr std::size_t least_reduce_piece_bytes = 2 * kib;
// Each member of a call that lists its blocks gets an entry in a slot: for more there is no room.
inline constexpr int most_listed_ranks = 1024;

// Chunks that anybody may take: a smaller one costs more in claims, and streams of copies end; with
// a larger one the others wait for the last. A kernel's copy costs more to begin.

inline constexpr std::size_t mapped_chunk_bytes = 64 * kib;
inline constexpr std::size_t copied_chunk_bytes = 256 * kib;
// Of the chain of a Scan: soon the whole chain is at work.
inline constexpr std::size_t chain_piece_bytes = 64 * kib;

// Blocks of a fold: they stay in the first cache from one pass to the next. Those of a Scan whose
// operands the kernel copies stay in the second.

inline constexpr std::size_t fold_block_bytes = 8 * kib;
inline constexpr std::size_t copied_block_bytes = 64 * kib;
// Where data with gaps passes through on its way to or from memory that only the kernel reaches.
inline constexpr std::size_t bounce_bytes = 256 * kib;

// Between nodes.

// Members that may leave calls to the MPI meet after so many, if none of them computes. To meet
// takes them three Allreduces of the MPI, as long as five or six small calls. A communicator that
// is freed sooner does not pay that. One that is freed just then is made, used and freed in 1.1
// to 1.3 times the time.
inline constexpr int calls_before_meeting = 32;

// Where each node has one rank of a communicator, and the result may depend on who computes it,
// Tutti reduces and scans vectors from these sizes on, and the MPI shorter ones: so it is always
// the same one, whoever would be faster. In the rig, 2 and 4 nodes, with 1 Gbit/s and without a
// limit, Tutti takes 0.10 to 1.01 times as long as the three MPIs. But a Reduce of up to 2 MiB
// between two nodes takes up to 2.0 times as long in some jobs of Intel MPI.
inline constexpr std::size_t summed_apart_bytes = 1024 * kib;
inline constexpr std::size_t reduced_apart_bytes = 4096 * kib;

// A message of a pipeline at most.
inline constexpr std::size_t wire_piece_bytes = 512 * kib;
// What the MPI is given as one message at most: it counts in int. And what it is given where parts
// are found to be as fast: over TCP the MPIs send so many bytes at once, and ask the receiver
// before they send more, which takes long where the answer comes behind what is on its way.
inline constexpr std::size_t longest_message_bytes = kib * kib * kib;
inline constexpr std::size_t cut_message_bytes = 48 * kib;
// All parts of a message start at once, and the MPI may keep short ones that come early. So longer
// messages than that are no more cut: the MPI asks the receiver first.
inline constexpr std::size_t most_cut_bytes = 4096 * kib;
// Messages of so many bytes tell which it is for all of least_bytes and more. The first of these
// that are as fast in parts decide. (In the rig Intel MPI takes 0.9 to 1.2 times as long for 128
// KiB in parts, and 0.7 to 1.0 times for 512 KiB.) Parts are taken unless they take so many times
// as long: several leaders of a node, and what else is on the network, delay answers more than
// where that is tried. In the rig at 1 Gbit/s an Allreduce took 1 to 3 times as long with messages
// as one where a trial said 0.92 to 1.02.
struct TriedMessages {
  std::size_t bytes, least_bytes;
};
inline constexpr std::array<TriedMessages, 2> tried_messages = {
    {{128 * kib, cut_message_bytes}, {512 * kib, 256 * kib}}};
inline constexpr double most_times_as_long = 1.03;
// A rank sends another one so many bytes before it waits until they are received. MPIs keep what
// comes early in memory of their own.
inline constexpr std::size_t unreceived_bytes = 1024 * kib;
// One of a Bcast, Reduce or Scan at least. In between it has as many bytes as make a chain of the
// leaders fastest, if to start a message and a stage on the node takes as long as to send so many
// (coll/leaders/tree.h). Simulated on 4 to 64 nodes, 64 KiB to 16 MiB take 0.15 to 1.12 times what
// they take in pieces of 512 KiB. With 16 KiB at least a Bcast takes up to 2.5 times as long on a
// network like InfiniBand, and a Reduce on one like Ethernet 0.6 times.
inline constexpr std::size_t least_wire_piece_bytes = 32 * kib;
inline constexpr std::size_t wire_start_bytes = 8 * kib;
// Where ranks share cores the least piece has as many bytes as are sent while so many messages of a
// few bytes start, and at most so many. In the rig that is 64 to 128 KiB. With 128 to 256 KiB, 64
// KiB to 1 MiB took 0.5 to 1.2 times as long as with 32 to 64 KiB. With links of 1 Gbit/s it is 32
// KiB as elsewhere; more would take twice as long.
inline constexpr std::size_t shared_piece_starts = 6;
inline constexpr std::size_t shared_wire_piece_bytes = 256 * kib;
// The operand of a nonblocking collective between nodes is copied in the call, if it has so few
// bytes: a few elements, of which programs change some before the call has ended.
inline constexpr std::size_t kept_operand_bytes = 64;
// An Allreduce is exchanged whole, in as few messages as can be, as long as all rounds together
// carry few bytes; a larger one in halves, in twice as many messages; and one that has many for
// each node in slices, one a node, along a ring, where the transfers overlap with what is done on
// the nodes. On 4 nodes simulated networks and the rig want other limits, the first one between 16
// and 256 KiB, the second one between 8 and 128 KiB. With these none of them loses much.
inline constexpr std::size_t doubled_bytes = 64 * kib;
inline constexpr std::size_t halved_bytes = 32 * kib;
// An Allreduce is also exchanged whole up to so many times the bytes that are sent while a message
// starts, as far as that was found out, where it would otherwise go in halves. Halves cost 2
// log2 N starts and 2 - 2/N of the bytes, rounds of the whole vector log2 N of each. So the two are
// equal at 7 to 9 times, on 4 to 64 nodes. Simulated on 4 nodes of 8 ranks, 64 KiB (two rounds)
// take 0.92 times as long whole as in halves on networks like InfiniBand and Ethernet, and 128
// KiB 1.04 and 1.12 times.
inline constexpr std::size_t doubled_starts = 8;
// More than that is not believed: in the rig it is 15 to 38 KiB, and leaders that lose their cores
// in a trial seem to find more.
inline constexpr std::size_t most_start_bytes = 64 * kib;
// Where the number of nodes is no power of two, halves end here: some nodes would send and receive
// all of the vector twice more. Then each leader sums up a share, and the ring begins where halves
// end elsewhere. Simulated on 3 to 48 nodes, 16 KiB to 1 MiB by shares, of two leaders where each
// gets enough, take 0.3 to 1.2 times what they take along the ring of one; with 64 KiB for each
// node the ring is faster.
inline constexpr std::size_t paired_bytes = 4 * kib;
inline constexpr std::size_t summed_by_share_bytes = 32 * kib;
// But halves and shares need memory of a leader for half of the vector or more, and slices do not.
inline constexpr std::size_t most_halved_bytes = 4 * kib * kib;
inline constexpr std::size_t most_ring_slice_bytes = 512 * kib;
// So many leaders of each node have a part of such a slice each, or of a vector that is exchanged
// in halves or shares (the default of TUTTI_LEADERS). Two are faster than one in simulations of
// nodes of 8 to 64 ranks, up to 1.6 times. More gain little, or lose.
inline constexpr int leaders = 2;
// Such a part has so many bytes for each node at least; with less, nodes have fewer leaders.
// Simulated on 2, 4, 16 and 64 nodes, 64 KiB to 1 MiB take 0.64 to 1.00 times what they take with
// 128 KiB.
inline constexpr std::size_t least_part_bytes = 8 * kib;
// The same of the blocks that a node's members have together, where blocks go round. Simulated on 2
// to 16 nodes, blocks of 8 KiB to 1 MiB of 8 ranks each take 0.57 to 1.01 times what they take with
// one leader; parts of 16 KiB up to 1.56 times on a network like InfiniBand.
inline constexpr std::size_t least_block_part_bytes = 32 * kib;
// A Reduce_scatter of so few bytes for each node is exchanged by ranges of the vector, a larger one
// node by node, in as many stages on each node as there are nodes. Simulated, 16 KiB for each of 4,
// 16 and 64 nodes take 0.8 to 1.2 times as long by ranges, 32 KiB 1.0 to 1.6 times. In the rig,
// where ranks share cores and stages cost more, 16 KiB take 0.8 times as long.
inline constexpr std::size_t summed_by_range_bytes = 16 * kib;
// Such a range is exchanged in log2 N rounds where one takes as long as it takes to start so many
// of N - 1 messages. So it is on simulated networks: 8 B on 4, 8, 16 and 64 nodes take 1.1, 1.0,
// 0.7 and 0.3 times as long as with N - 1 messages.
inline constexpr double round_starts = 3.5;
// The nodes' blocks of an Allgather go round, if they have more than so many bytes in the mean.
inline constexpr std::size_t least_ring_blocks_bytes = 16 * kib;
// Where ranks are numbered in turns over nodes, each of these passes by itself from so many bytes
// on, so that it need not be copied. Simulated on 2 to 16 nodes of 8 ranks, blocks of 8 KiB to 1
// MiB take 0.38 to 1.09 times what they take packed; of 4 KiB up to 1.17 times.
inline constexpr std::size_t least_run_bytes = 8 * kib;
// Blocks of a Gather or Scatter of so many bytes and more pass no leader. Simulated on 2 to 16
// nodes, 256 KiB to 4 MiB then take 0.76 to 1.00 times as long. In the rig, two hosts of a rank,
// 64 KiB would take 1.2 to 1.4 times as long, as sender and receiver meet first. Where ranks share
// cores, each that sends itself needs its turn: 64 and 256 KiB would take 0.8 to 2.0 times as long;
// 512 KiB and 1 MiB take 0.5 to 1.1 times.
inline constexpr std::size_t least_direct_bytes = 256 * kib;
inline constexpr std::size_t least_shared_direct_bytes = 512 * kib;
// Few blocks of a Gather or Scatter pass other nodes, so that the root starts fewer messages. A
// message takes as long as it takes to start so many, and a byte that is passed on costs as much as
// so many bytes of the root's: simulated networks have 5 to 7, and 2 to 6. On 64 to 512 nodes
// blocks that are passed on then take 0.07 to 1.12 times as long.
inline constexpr std::size_t hop_starts = 7;
inline constexpr std::size_t passed_costs = 4;
// All operands of a late reduction between nodes, which each member gathers that wants its result.
// In the rig, 4 x 2 ranks, an Iallreduce of 8 to 512 B takes 1.0 to 1.5 times as long as Open MPI
// and Intel MPI told to yield, one of 4 KiB 1.4 to 1.6 times, of 32 KiB 2.6 to 3.2 times.
inline constexpr std::size_t most_late_bytes = 64 * kib;
// What a leader may need for the blocks of its node's members, or of a branch of nodes in a tree;
// and each rank for all blocks of an Allgather that leaders pass on in few messages.
inline constexpr std::size_t most_packed_bytes = 64 * kib * kib;
// What the ranks of a node tell each other about small blocks of an Alltoallv, all together: with
// more, to list them takes longer than to send each by itself.
inline constexpr std::size_t most_listing_bytes = 512 * kib;
// Blocks of an Alltoall, Alltoallv or Alltoallw up to this size are worth the two copies more that
// one message between two nodes costs, where it would be one between any two of their ranks.
inline constexpr std::size_t packed_alltoall_bytes = 4 * kib;
// So few bytes from one node to another take as long as none: to pass them on, in fewer messages,
// saves time.
inline constexpr std::size_t forwarded_alltoall_bytes = 256;
// If there are more than so many nodes for each round: few nodes have hardly fewer messages then,
// one after the other.
inline constexpr std::size_t forwarded_nodes_a_round = 2;
// Of a Gatherv or Scatterv so few bytes of a node ride in the message that says how long its blocks
// are, which always has the room. A second message would cost more.
inline constexpr std::size_t rider_bytes = 1 * kib;
// Of blocks that ranks send each other themselves so many bytes are under way at once, where they
// pass through memory of the rank, or are not to come early; and more where they do not, so that a
// rank whose partner is late goes on with others, as long as blocks have two pieces at most.
inline constexpr std::size_t under_way_bytes = 1024 * kib;
inline constexpr std::size_t straight_under_way_bytes = 16 * under_way_bytes;
// Of large blocks of an Alltoall two pieces are under way to a rank that may be late. It thus gets
// so many bytes from all others together, as long as pieces are no shorter than the least one.
// Simulated, 256 KiB to 4 MiB take 1.00 to 1.01 times as long on 64 ranks as with pieces of 512
// KiB; on 32 ranks, too, but 1 MiB 1.12 times.
inline constexpr std::size_t early_bytes = 16 * kib * kib;
inline constexpr std::size_t least_direct_piece_bytes = 64 * kib;
// So many bytes of a node for others are worth a turn of their own in an Alltoall: fewer cost more
// in meetings than they gain in overlap.
inline constexpr std::size_t lent_turn_bytes = 64 * kib;

// Nonblocking collectives.

// The thread that posts one of at most so many bytes does it at once.
inline constexpr std::size_t small_bytes = 2 * kib;
// A rank whose progress thread has a core of its own yields twice for one of so many bytes or more,
// however long that takes. It yields once when it has posted: nothing can go on until the others
// that share its core have posted too. And once before it drives in a wait: others may still
// compute on that core, and the thread drives meanwhile.
inline constexpr std::size_t courteous_bytes = 128 * kib;

}  // namespace tutti::limits
