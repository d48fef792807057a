# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts on the table of the nonblocking collectives.

`measured` has, by (what, MPI), the rows of tutti-bench or of IMB-NBC by (collective, bytes), or
what outstanding.cc printed; `missing` has the reason for what could not be measured. A point that
was not measured fails the bars that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean, geometric_mean, median

from rig.text import size_text

from records.bars import nonblocking as table
from records.bars.points import MIB, Verdict

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
            return text, percent >= table.OVERLAP_PERCENT and ratio <= table.OVERLAPPED

        cache = "cold" if source == table.BENCH_CORES_COLD else "hot"
        what = f"{point[0].capitalize()} {size_text(point[1])}, {cache}"
        case = f"{what}, 2 ranks on 1 core, 1 communication core"
        bar = f"at least {table.OVERLAP_PERCENT:g} % overlap; "
        bar += f"at most {table.OVERLAPPED:g} of the longer part"
        return self.verdict(case, mpi, bar, source, judged)

    def pure(self, mpi: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            row = self.rows(table.BENCH, mpi)["iallreduce", 4 * MIB]
            ratio = row["tutti_pure_us"] / row["tutti_blocking_us"]
            return f"{ratio:.2f} of the blocking time", ratio <= table.PURE

        case = "Iallreduce 4 MiB, waited for at once"
        bar = f"at most {table.PURE:g} of Allreduce's time"
        return self.verdict(case, mpi, bar, table.BENCH, judged)

    def ours(self, mpi: str) -> tuple[str, Rows, dict[str, list[Rows]]]:
        """Where it is from; with Tutti, and what it is compared with."""
        if mpi in table.IMB_MPIS:
            others = {
                what: [self.rows(what, name) for name in table.IMB_MPIS]
                for what in (table.ALONE, table.ASYNC)
            }
            return table.TUTTI, self.rows(table.TUTTI, mpi), others
        rows = self.rows(table.BENCH, mpi)
        return table.BENCH, library_rows(rows, "tutti"), {table.ALONE: [library_rows(rows, "base")]}

    def faster(self, mpi: str, collective: str, time: str) -> Verdict:
        what, ours, others = self.ours(mpi)

        def judged() -> tuple[str, bool]:
            ratios, every = {}, [rows for kind in others.values() for rows in kind]
            for size in table.SIZES:
                point = (collective, size)
                best = min(rows[point][time] for rows in every if point in rows)
                ratios[size] = best / ours[point][time]
            mean, worst = geometric_mean(ratios.values()), min(ratios, key=ratios.__getitem__)
            text = f"{mean:.2f}x; least {ratios[worst]:.2f}x ({size_text(worst)})"
            return text, mean >= table.BEST

        name = time.removesuffix("_us")
        case = f"{self.label(collective, what)}, {name} time, against the best MPI"
        return self.verdict(case, mpi, f"at least {table.BEST:g}x", what, present(judged))

    def overlap(self, mpi: str, collective: str) -> Verdict:
        what, ours, others = self.ours(mpi)

        def judged() -> tuple[str, bool]:
            def mean(rows: Rows) -> float:
                return fmean(rows[point]["overlap_percent"] for point in points if point in rows)

            points = [(collective, size) for size in table.SIZES]
            own = fmean(ours[point]["overlap_percent"] for point in points)
            text, best = f"{own:.0f} % ({full(ours, points)})", []
            for kind, words in (
                (table.ALONE, "alone"),
                (table.ASYNC, "with asynchronous progress"),
            ):
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
        what = table.TUTTI_CORES if mpi in table.IMB_MPIS else table.BENCH_CORES
        rows = self.rows(what, mpi)
        rows = rows if mpi in table.IMB_MPIS else library_rows(rows, "tutti")

        def judged() -> tuple[str, bool]:
            percents = {s: rows[collective, s]["overlap_percent"] for s in table.CORES_SIZES}
            worst = min(percents, key=percents.__getitem__)
            text = f"least {percents[worst]:.0f} % ({size_text(worst)})"
            if mpi in table.IMB_MPIS:
                text += f"; {full(rows, [(collective, size) for size in table.CORES_SIZES])}"
            return text, all(percent >= table.CORES_PERCENT for percent in percents.values())

        sizes = f"{size_text(table.CORES_SIZES[0])} to 4 MiB"
        case = f"{collective.capitalize()}, {sizes}, 1 communication core"
        source = "IMB-NBC" if mpi in table.IMB_MPIS else "tutti bench"
        bar = f"at least {table.CORES_PERCENT:g} % overlap"
        return self.verdict(f"{case} ({source})", mpi, bar, what, judged)

    def posts(self, mpi: str, collective: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            rows = self.rows(table.POSTS, mpi)
            posts = {size: rows[collective, size]["tutti_post_us"] for size in table.POST_SIZES}
            worst = max(posts, key=posts.__getitem__)
            bare = rows[collective, worst]["base_post_us"]
            text = f"at most {posts[worst]:.2f} µs ({size_text(worst)}; the MPI itself {bare:.2f})"
            return text, posts[worst] < table.POST_US

        case = f"posting {collective.capitalize()}, 8 B to 4 MiB, median"
        return self.verdict(case, mpi, f"under {table.POST_US:g} µs", table.POSTS, judged)

    def outstanding(self, mpi: str) -> Verdict:
        def judged() -> tuple[str, bool]:
            found = self.measured[table.OUTSTANDING, mpi]
            resident = found["resident_kib"]
            grown = resident[-1] - resident[1]
            text = f"{found['wrong'][0]:.0f} wrong; {grown:+.0f} KiB from the 2nd to the last round"
            text += f"; {median(found['round_s']):.2f} s a round"
            return text, found["wrong"] == [0] and grown <= table.GROWTH_KIB

        case, bar = "10 000 outstanding requests", f"all right; at most {table.GROWTH_KIB} KiB more"
        return self.verdict(case, mpi, bar, table.OUTSTANDING, present(judged))

    def idle(self, mpi: str) -> list[Verdict]:
        def found(name: str) -> tuple[float, float]:
            bare, tutti = (self.measured[what, mpi][name] for what in (table.IDLE_BARE, table.IDLE))
            return median(bare), median(tutti)

        def threads() -> tuple[str, bool]:
            bare, tutti = found("threads")
            return f"{tutti:.0f} threads, bare {bare:.0f}", tutti == bare

        def waits() -> tuple[str, bool]:
            bare, tutti = found("wait_ns")
            return f"{tutti:.1f} ns, bare {bare:.1f} ns", tutti <= bare + table.WAIT_NS

        what = table.IDLE if (table.IDLE, mpi) in self.missing else table.IDLE_BARE
        case = "no nonblocking collective: "
        bar = f"at most {table.WAIT_NS:g} ns more"
        return [
            self.verdict(case + "threads", mpi, "none more", what, present(threads)),
            self.verdict(case + "MPI_Wait, the MPI's request", mpi, bar, what, present(waits)),
        ]

    @staticmethod
    def label(collective: str, what: str) -> str:
        source = "tutti bench" if what == table.BENCH else "IMB-NBC"
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
        for point in table.SHARED_CORE
        for source in (table.BENCH_CORES, table.BENCH_CORES_COLD)
        for mpi in mpis
    ]
    verdicts += [j.pure(mpi) for mpi in mpis]
    for collective in table.COLLECTIVES:
        for time in ("pure_us", "overlapped_us"):
            verdicts += [j.faster(mpi, collective, time) for mpi in mpis]
        verdicts += [j.overlap(mpi, collective) for mpi in mpis]
    verdicts += [j.cores(mpi, collective) for collective in table.COLLECTIVES for mpi in mpis]
    verdicts += [j.posts(mpi, collective) for collective in table.COLLECTIVES for mpi in mpis]
    verdicts += [j.outstanding(mpi) for mpi in mpis]
    return verdicts + [verdict for mpi in mpis for verdict in j.idle(mpi)]
