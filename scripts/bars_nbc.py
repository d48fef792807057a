# SPDX-License-Identifier: BSD-3-Clause
"""What Tutti must reach with nonblocking collectives, and the verdicts on it.

`measured` has, by (what, MPI), the rows of tutti-bench or of IMB-NBC by (collective, bytes), or
what outstanding.cc printed; `missing` has the reason for what could not be measured. A point that
was not measured fails the bars that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean, geometric_mean, median

from bars import MIB, POWERS_OF_TWO, Verdict
from rig.text import size_text

# What is measured of an MPI. Rows of tutti-bench have "base_pure_us" and "tutti_pure_us", those of
# IMB-NBC "pure_us" alone.
BENCH, BENCH_CORES = "tutti bench", "tutti bench, 1 communication core"
BENCH_CORES_COLD = f"{BENCH_CORES}, cold caches"
POSTS = "posting"
ALONE, ASYNC, TUTTI, TUTTI_CORES = (
    f"IMB-NBC, {what}"
    for what in ("MPI alone", "asynchronous progress", "Tutti", "Tutti, 1 communication core")
)
OUTSTANDING, IDLE, IDLE_BARE = "outstanding requests", "no requests", "no requests, bare"

IMB_MPIS = ("impi", "mpich")  # whose ABI the ready-built IMB-NBC has
COLLECTIVES = ("iallreduce", "ibcast", "ireduce", "ialltoall")
SIZES = [size for size in POWERS_OF_TWO if size >= 64 << 10]  # 64 KiB to 4 MiB
POST_SIZES = [*POWERS_OF_TWO[::3], 4 * MIB]
SHARED_CORE = [("ireduce", 2 * MIB), ("ibcast", 2 * MIB)]

OVERLAP_PERCENT = 90.0
OVERLAPPED = 1.1  # of the longer of computation and communication
PURE = 1.15  # of Tutti's blocking collective
BEST = 2.0
CORES_PERCENT = 80.0
CORES_SIZES = [size for size in SIZES if size >= 256 << 10]
POST_US = 1.0
GROWTH_KIB = 1024  # a page of an allocator's here and there, of 10 000 requests a round
WAIT_NS = 5.0  # of MPI_Wait for the MPI's own request; the clock of two runs differs by some

Point = tuple[str, int]
Rows = dict[Point, dict]
Measured = dict[tuple[str, str], dict]
Missing = dict[tuple[str, str], str]


class Judge:
    def __init__(self, measured: Measured, missing: Missing):
        self.measured, self.missing = measured, missing

    def rows(self, what: str, mpi: str) -> Rows:
        return self.measured.get((what, mpi), {})

    def why(self, what: str, mpi: str) -> str:
        reason = self.missing.get((what, mpi))
        return f"not measured: {reason}" if reason else "not measured"

    def verdict(
        self, case: str, mpi: str, bar: str, what: str, judged: Callable[[], tuple[str, bool]]
    ) -> Verdict:
        """Not measured if what `judged` looks up is not there."""
        try:
            text, met = judged()
        except KeyError:
            text, met = self.why(what, mpi), False
        return Verdict(case, mpi, bar, text, met, {})

    def shared_core(self, mpi: str, point: Point, source: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            row = self.rows(source, mpi)[point]
            percent, overlapped = row["tutti_overlap_percent"], row["tutti_overlapped_us"]
            longer = max(row["compute_us"], row["tutti_pure_us"])
            ratio = overlapped / longer
            text = f"{percent:.0f} %; {ratio:.2f} of the longer ({overlapped - longer:.1f} µs more)"
            return text, percent >= OVERLAP_PERCENT and ratio <= OVERLAPPED

        cache = "cold" if source == BENCH_CORES_COLD else "hot"
        what = f"{point[0].capitalize()} {size_text(point[1])}, {cache}"
        case = f"{what}, 2 ranks on 1 core, 1 communication core"
        bar = f"at least {OVERLAP_PERCENT:g} % overlap; at most {OVERLAPPED:g} of the longer part"
        return self.verdict(case, mpi, bar, source, judged)

    def pure(self, mpi: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            row = self.rows(BENCH, mpi)["iallreduce", 4 * MIB]
            ratio = row["tutti_pure_us"] / row["tutti_blocking_us"]
            return f"{ratio:.2f} of the blocking time", ratio <= PURE

        case, bar = "Iallreduce 4 MiB, waited for at once", f"at most {PURE:g} of Allreduce's time"
        return self.verdict(case, mpi, bar, BENCH, judged)

    def ours(self, mpi: str) -> tuple[str, Rows, dict[str, list[Rows]]]:
        """Where it is from; with Tutti, and what it is compared with."""
        if mpi in IMB_MPIS:
            others = {what: [self.rows(what, name) for name in IMB_MPIS] for what in (ALONE, ASYNC)}
            return TUTTI, self.rows(TUTTI, mpi), others
        rows = self.rows(BENCH, mpi)
        return BENCH, library_rows(rows, "tutti"), {ALONE: [library_rows(rows, "base")]}

    def faster(self, mpi: str, collective: str, time: str) -> Verdict:
        what, ours, others = self.ours(mpi)

        def judged() -> tuple[str, bool]:
            ratios, every = {}, [rows for kind in others.values() for rows in kind]
            for size in SIZES:
                point = (collective, size)
                best = min(rows[point][time] for rows in every if point in rows)
                ratios[size] = best / ours[point][time]
            mean, worst = geometric_mean(ratios.values()), min(ratios, key=ratios.__getitem__)
            text = f"{mean:.2f}x; least {ratios[worst]:.2f}x ({size_text(worst)})"
            return text, mean >= BEST

        name = time.removesuffix("_us")
        case = f"{self.label(collective, what)}, {name} time, against the best MPI"
        return self.verdict(case, mpi, f"at least {BEST:g}x", what, present(judged))

    def overlap(self, mpi: str, collective: str) -> Verdict:
        what, ours, others = self.ours(mpi)

        def judged() -> tuple[str, bool]:
            def mean(rows: Rows) -> float:
                return fmean(rows[point]["overlap_percent"] for point in points if point in rows)

            points = [(collective, size) for size in SIZES]
            own = fmean(ours[point]["overlap_percent"] for point in points)
            text, best = f"{own:.0f} % ({full(ours, points)})", []
            for kind, words in ((ALONE, "alone"), (ASYNC, "with asynchronous progress")):
                some = [r for r in others.get(kind, []) if any(point in r for point in points)]
                if not some:
                    continue
                rows = max(some, key=mean)
                best.append(mean(rows))
                sizes = sum(point in rows for point in points)
                few = f" at {sizes} of {len(points)} sizes" if sizes < len(points) else ""
                text += f"; the MPIs' best {words} {best[-1]:.0f} % ({full(rows, points)}){few}"
            return text, own >= max(best)

        case = f"{self.label(collective, what)}, mean overlap, against the best MPI"
        return self.verdict(case, mpi, "not lower", what, present(judged))

    def cores(self, mpi: str, collective: str) -> Verdict:
        what = TUTTI_CORES if mpi in IMB_MPIS else BENCH_CORES
        rows = self.rows(what, mpi)
        rows = rows if mpi in IMB_MPIS else library_rows(rows, "tutti")

        def judged() -> tuple[str, bool]:
            percents = {s: rows[collective, s]["overlap_percent"] for s in CORES_SIZES}
            worst = min(percents, key=percents.__getitem__)
            text = f"least {percents[worst]:.0f} % ({size_text(worst)})"
            if mpi in IMB_MPIS:
                text += f"; {full(rows, [(collective, size) for size in CORES_SIZES])}"
            return text, all(percent >= CORES_PERCENT for percent in percents.values())

        case = (
            f"{collective.capitalize()}, {size_text(CORES_SIZES[0])} to 4 MiB, 1 communication core"
        )
        source = "IMB-NBC" if mpi in IMB_MPIS else "tutti bench"
        bar = f"at least {CORES_PERCENT:g} % overlap"
        return self.verdict(f"{case} ({source})", mpi, bar, what, judged)

    def posts(self, mpi: str, collective: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            rows = self.rows(POSTS, mpi)
            posts = {size: rows[collective, size]["tutti_post_us"] for size in POST_SIZES}
            worst = max(posts, key=posts.__getitem__)
            bare = rows[collective, worst]["base_post_us"]
            text = f"at most {posts[worst]:.2f} µs ({size_text(worst)}; the MPI itself {bare:.2f})"
            return text, posts[worst] < POST_US

        case = f"posting {collective.capitalize()}, 8 B to 4 MiB, median"
        return self.verdict(case, mpi, f"under {POST_US:g} µs", POSTS, judged)

    def outstanding(self, mpi: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            found = self.measured[OUTSTANDING, mpi]
            resident = found["resident_kib"]
            grown = resident[-1] - resident[1]
            text = f"{found['wrong'][0]:.0f} wrong; {grown:+.0f} KiB from the 2nd to the last round"
            text += f"; {median(found['round_s']):.2f} s a round"
            return text, found["wrong"] == [0] and grown <= GROWTH_KIB

        case, bar = "10 000 outstanding requests", f"all right; at most {GROWTH_KIB} KiB more"
        return self.verdict(case, mpi, bar, OUTSTANDING, present(judged))

    def idle(self, mpi: str) -> list[Verdict]:
        def found(name: str) -> tuple[float, float]:
            bare, tutti = (self.measured[what, mpi][name] for what in (IDLE_BARE, IDLE))
            return median(bare), median(tutti)

        def threads() -> tuple[str, bool]:
            bare, tutti = found("threads")
            return f"{tutti:.0f} threads, bare {bare:.0f}", tutti == bare

        def waits() -> tuple[str, bool]:
            bare, tutti = found("wait_ns")
            return f"{tutti:.1f} ns, bare {bare:.1f} ns", tutti <= bare + WAIT_NS

        what = IDLE if (IDLE, mpi) in self.missing else IDLE_BARE
        case = "no nonblocking collective: "
        bar = f"at most {WAIT_NS:g} ns more"
        return [
            self.verdict(case + "threads", mpi, "none more", what, present(threads)),
            self.verdict(case + "MPI_Wait, the MPI's request", mpi, bar, what, present(waits)),
        ]

    @staticmethod
    def label(collective: str, what: str) -> str:
        source = "tutti bench" if what == BENCH else "IMB-NBC"
        return f"{collective.capitalize()}, 64 KiB to 4 MiB ({source})"


def full(rows: Rows, points: list[Point]) -> str:
    """How long it takes in terms of both parts one after the other.

    Where all cores communicate while ranks wait, that is what keeps all of them busy all the time:
    of ranks that have a core each, and as IMB-NBC computes, of ranks that share one, too. 1.00 is
    then as good as it can get.
    """
    of = [
        row["overlapped_us"] / (row["pure_us"] + row["compute_us"])
        for row in (rows[point] for point in points if point in rows)
    ]
    return f"{geometric_mean(of):.2f} of the sum"


def library_rows(rows: Rows, library: str) -> Rows:
    """What tutti-bench measured of one library, as IMB-NBC would say it."""
    start = f"{library}_"
    return {
        point: {"compute_us": row["compute_us"]}
        | {k.removeprefix(start): value for k, value in row.items() if k.startswith(start)}
        for point, row in rows.items()
    }


def present(judged: Callable[[], tuple[str, bool]]) -> Callable[[], tuple[str, bool]]:
    """An empty list, too, says that something is missing."""

    def looked() -> tuple[str, bool]:
        try:
            return judged()
        except (ValueError, IndexError, StopIteration) as error:
            raise KeyError from error

    return looked


def judge(measured: Measured, missing: Missing, mpis: Iterable[str]) -> list[Verdict]:
    mpis, j = list(mpis), Judge(measured, missing)
    verdicts = [
        j.shared_core(mpi, point, source)
        for point in SHARED_CORE
        for source in (BENCH_CORES, BENCH_CORES_COLD)
        for mpi in mpis
    ]
    verdicts += [j.pure(mpi) for mpi in mpis]
    for collective in COLLECTIVES:
        for time in ("pure_us", "overlapped_us"):
            verdicts += [j.faster(mpi, collective, time) for mpi in mpis]
        verdicts += [j.overlap(mpi, collective) for mpi in mpis]
    verdicts += [j.cores(mpi, collective) for collective in COLLECTIVES for mpi in mpis]
    verdicts += [j.posts(mpi, collective) for collective in COLLECTIVES for mpi in mpis]
    verdicts += [j.outstanding(mpi) for mpi in mpis]
    return verdicts + [verdict for mpi in mpis for verdict in j.idle(mpi)]
