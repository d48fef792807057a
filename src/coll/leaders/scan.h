// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan over nodes of which each has ranks that follow each other: a Scan on each node,
// whose last member then knows what the node sums up to. The last members find what the nodes
// before theirs sum up to, each tells its node's members, and they put it in front. So operands
// meet in the order of the ranks.
//
// Few bytes: what a node knows of the nodes before it doubles in each round (Hillis and Steele
// 1986). Large vectors go along a chain of the nodes, in pieces; few bytes, too, where few nodes
// have ranks that share cores. Along a chain of these a node's first member hears from the node
// before: with few bytes nobody then waits for a later rank, and in a row of calls those before run
// ahead.
#pragma once

#include "coll/leaders/row.h"
#include "coll/leaders/tree.h"
#include "coll/scan/line.h"

namespace tutti::coll::leaders {

// On up to so many nodes operands meet in the same order along a chain as by doubling. Four nodes
// then have three messages in turn, and not five in two rounds. In the rig, where ranks share
// cores, 8 B to 64 KiB take 0.58 to 0.81 times as long so, one call after the other. With a core
// for each leader they would take up to 1.6 times as long.
inline constexpr int nodes_alike = 4;

// Of one rank, in a call.
template <Fabric F, Wire W, scan::Kind kind, bool chain>
class Prefixes {
 public:
  Prefixes(Members<F, W>& all, const Work& work)
      : all_(all),
        work_(work),
        me_(all.map.node()),
        nodes_(all.map.nodes()),
        speaks_(speaker(me_) == all.map.rank()),
        hears_(me_ > 0 && hearer(me_) == all.map.rank()),
        most_(std::max<std::size_t>(1, piece_bytes() / work.element_bytes)),
        pieces_(divide_up(work.count, most_)),
        place_bytes_(round_up(std::min(most_, work.count) * work.element_bytes, 64)),
        memory_(all.wire.scratch(places() * place_bytes_)) {}

  Task run() {
    if (chain) listen(0);
    for (std::size_t piece = 0; piece < pieces_; ++piece) {
      if (chain && piece + 1 < pieces_) listen(piece + 1);
      co_await meet(piece);
    }
    if (speaks_) co_await all_.wire.done(std::max(sent_[0], sent_[1]));
  }

 private:
  // Doubling has no pipeline: more pieces are more rounds.
  [[nodiscard]] std::size_t piece_bytes() const {
    return chain ? pipeline_of(all_.map, all_.way, work_, Pipeline::Operands::meet).piece_bytes
                 : limits::wire_piece_bytes;
  }
  [[nodiscard]] std::size_t places() const {
    if (speaks_) return 5;
    return hears_ ? 2 : 1;
  }
  [[nodiscard]] std::byte* place(std::size_t index) const { return memory_ + index * place_bytes_; }
  // Of the chain, two pieces are under way.
  [[nodiscard]] std::byte* heard(std::size_t piece) const { return place(piece % 2); }
  [[nodiscard]] std::byte* made(std::size_t piece) const { return place(2 + piece % 2); }
  [[nodiscard]] std::byte* kept() const { return place(4); }  // the operand, where it is replaced

  [[nodiscard]] std::size_t count_of(std::size_t piece) const {
    return std::min(most_, work_.count - piece * most_);
  }
  [[nodiscard]] int speaker(int node) const { return all_.map.members(node).back(); }
  [[nodiscard]] int hearer(int node) const {
    return chain && all_.way.shares_cores ? all_.map.members(node).front() : speaker(node);
  }

  void listen(std::size_t piece) {
    if (hears_)
      arriving_[piece % 2] =
          all_.wire.receive(speaker(me_ - 1), heard(piece), count_of(piece) * work_.element_bytes);
  }

  Task meet(std::size_t piece) {
    const std::size_t offset = piece * most_ * work_.element_bytes;
    Work own = work_;
    own.count = count_of(piece);
    own.send = static_cast<const std::byte*>(work_.send) + offset;
    // The first rank has none of an Exscan.
    if (work_.recv != nullptr) own.recv = static_cast<std::byte*>(work_.recv) + offset;
    const bool replaced = kind == scan::Kind::exclusive && own.send == own.recv;
    const bool keeps = speaks_ && replaced && all_.fabric.size() > 1;
    if (keeps) all_.copy(kept(), own.send, own.bytes());
    co_await on_node(all_, kind == scan::Kind::inclusive ? Collective::scan : Collective::exscan,
                     own);
    if (keeps) own.send = kept();
    std::byte* const prefix = chain && hears_ ? heard(piece) : place(0);
    if (chain && hears_) co_await all_.wire.done(arriving_[piece % 2]);
    const bool knows = hears_ || me_ == 0;  // what the nodes before sum up to
    if (chain && speaks_ && knows) co_await pass_on(own, piece, prefix);
    if (!chain && speaks_) co_await double_up(own);
    if (me_ == 0) co_return;
    co_await bcast_on_node(all_, prefix, own.bytes(), hearer(me_));
    if (chain && speaks_ && !knows) co_await pass_on(own, piece, prefix);
    if (kind == scan::Kind::exclusive && all_.map.place_of(all_.map.rank()) == 0)
      all_.copy(own.recv, prefix, own.bytes());
    else
      all_.fold(work_, own.recv, prefix, own.recv, own.count, work_.stores);
  }

  // What this node sums up to: its last member's result, or that and its operand, at `to`.
  const std::byte* total(const Work& own, std::byte* to) const {
    if (kind == scan::Kind::inclusive) return static_cast<const std::byte*>(own.recv);
    if (all_.fabric.size() == 1) return static_cast<const std::byte*>(own.send);
    all_.fold(work_, to, own.recv, own.send, own.count, Stores::plain);
    return to;
  }

  Task pass_on(const Work& own, std::size_t piece, const std::byte* prefix) {
    if (me_ + 1 == nodes_) co_return;
    co_await all_.wire.done(sent_[piece % 2]);
    const std::byte* sum = total(own, made(piece));
    if (me_ > 0) {
      all_.fold(work_, made(piece), prefix, sum, own.count, Stores::plain);
      sum = made(piece);
    }
    sent_[piece % 2] = all_.wire.send(hearer(me_ + 1), sum, own.bytes());
  }

  // What the nodes before this one sum up to comes to place(0).
  Task double_up(const Work& own) {
    std::byte* const sum = place(2);
    const std::byte* known = total(own, sum);
    for (int distance = 1; distance < nodes_; distance *= 2) {
      Ticket last = 0;
      const bool hears = me_ >= distance;
      std::byte* const before = place(distance == 1 ? 0 : 1);
      if (hears) last = all_.wire.receive(speaker(me_ - distance), before, own.bytes());
      if (me_ + distance < nodes_)
        last = all_.wire.send(speaker(me_ + distance), known, own.bytes());
      co_await all_.wire.done(last);
      if (!hears) continue;
      if (me_ + 2 * distance < nodes_) {
        all_.fold(work_, sum, before, known, own.count, Stores::plain);
        known = sum;
      }
      if (distance > 1) all_.fold(work_, place(0), before, place(0), own.count, Stores::plain);
    }
  }

  Members<F, W>& all_;
  const Work& work_;
  int me_, nodes_;
  bool speaks_, hears_;  // with other nodes
  std::size_t most_, pieces_;
  std::size_t place_bytes_;
  std::byte* memory_;
  Ticket arriving_[2] = {0, 0}, sent_[2] = {0, 0};
};

template <Fabric F, Wire W, scan::Kind kind, bool chain>
Task prefixes(Members<F, W>& all, const Work& work) {
  Prefixes<F, W, kind, chain> found(all, work);
  co_await found.run();
}

inline bool pays_along_chain(const NodeMap& map, const Way& way, const Work& work) {
  return pays_in_pieces<Pipeline::Operands::meet>(map, way, work) ||
         (way.shares_cores && map.nodes() <= nodes_alike);
}

template <Fabric F, Wire W, scan::Kind kind>
inline constexpr Row<F, W> scan_rows[] = {
    {{"chain", "in pieces from node to node", always, pays_along_chain},
     prefixes<F, W, kind, true>},
    {{"doubling", "what a node knows of those before doubles each round", always, always},
     prefixes<F, W, kind, false>},
};

}  // namespace tutti::coll::leaders
