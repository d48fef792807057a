# SPDX-License-Identifier: BSD-3-Clause
"""Scientific applications as Debian builds them, with small inputs, and what their results are; and
programs of our own in Python. Of those marked so, collectives take a tenth of the time or more."""

from __future__ import annotations

import sys

from rig import ROOT

from apps.app import App, numbers
from apps.prepare import FORMS, OPENFOAM, PYTHON, compiled, forms, grid, silicon, slices, water


def _permutation(text: str) -> list[float]:
    """Of an ordering in Scotch's format: how many vertices, and how many different places."""
    words = text.split()
    return [float(words[0]), float(len(set(words[2::2])))]


def _ours(name: str, pattern: str, tolerance: float = 0.0) -> App:
    """A program among the inputs that communicates."""
    command = (sys.executable, name)
    result = numbers(pattern)
    return App(name, "", command, result, tolerance, inputs=(name,), communicates=True)


def _espresso(name: str, file: str) -> App:
    """Quantum ESPRESSO with an input of silicon."""
    package = "quantum-espresso quantum-espresso-data"
    energy = numbers(r"^!\s+total energy\s+=\s+(\S+) Ry")
    command = ("pw.x", "-i", file)
    return App(name, package, command, energy, 1e-9, inputs=(file,), prepare=silicon)


APPS = (
    _espresso("Quantum ESPRESSO", "si8.in"),
    _espresso("Quantum ESPRESSO, FFT", "si2.in"),  # two atoms in a large box
    App(
        "LAMMPS",
        "lammps",
        ("lmp", "-in", "in.melt", "-log", "none"),
        # Step Temp E_pair E_mol TotEng Press; later on every sum's last bit shows.
        numbers(r"^ +(?:0|50|100) +\S+ +\S+ +\S+ +(\S+)"),
        tolerance=1e-6,
        inputs=("in.melt",),
    ),
    App(
        "ABINIT",
        "abinit abinit-data",
        ("abinit", "si.abi"),
        numbers(r"^total_energy\s+: +(\S+)"),
        tolerance=1e-9,
        file="si.abo",
        inputs=("si.abi",),
    ),
    App(
        "NWChem",
        "nwchem",
        ("nwchem", "water.nw"),
        numbers(r"Total DFT energy =\s+(\S+)"),
        tolerance=1e-8,
        inputs=("water.nw",),
        one_host=True,  # Debian's Open MPI gives it no memory for a window
    ),
    App(
        "CP2K",
        "cp2k",
        ("cp2k.psmp", "-i", "water.inp"),
        numbers(r"ENERGY\| Total FORCE_EVAL.*:\s+(\S+)"),
        tolerance=1e-8,
        inputs=("water.inp",),
    ),
    App(
        "PT-Scotch",
        "ptscotch",
        ("dgord", "grid.grf", "grid.ord"),
        _permutation,
        file="grid.ord",
        prepare=grid(40),
    ),
    App(
        "HPCC",
        "hpcc",
        ("hpcc",),
        # Its PTRANS_residual is 0 or 1 bare, too, from run to run.
        numbers(r"^(?:Success|HPL_RnormI|MPIFFT_maxErr|MPIRandomAccess_Errors)=(\S+)"),
        tolerance=1e-3,
        file="hpccoutf.txt",
        inputs=("hpccinf.txt",),
    ),
    App(
        "GROMACS",
        "gromacs",
        ("gmx_mpi", "-quiet", "mdrun", "-s", "water.tpr", "-ntomp", "1", "-reprod"),
        # The total energy is the first of the second line of values.
        numbers(r"^   Energies .*\n.*\n.*\n.*\n +(\S+)"),
        tolerance=1e-4,
        file="md.log",
        inputs=("water.mdp", "water.top"),
        prepare=water,
    ),
    App(
        "OpenFOAM",
        "openfoam",
        ("env", OPENFOAM, "icoFoam", "-parallel"),
        numbers(r"^Courant Number mean: \S+ max: (\S+)"),
        tolerance=1e-4,
        inputs=("cavity",),
        prepare=slices,
        needs="icoFoam",
    ),
    App(
        "DOLFINx",
        "python3-dolfinx",
        (PYTHON, "poisson.py", str(FORMS)),
        numbers(r"off by (\S+)"),
        tolerance=1e-7,
        inputs=("poisson.py",),
        prepare=forms,
        needs="/usr/lib/petsc/lib/python3/dist-packages/dolfinx",
    ),
    App(
        "PETSc",
        "libpetsc-real-dev pkg-config",
        ("./program",),
        numbers(r"norm (\S+)"),
        tolerance=1e-8,
        prepare=compiled("diffusion.c", "mpicc.openmpi", "PETSc"),
        needs="/usr/lib/x86_64-linux-gnu/pkgconfig/PETSc.pc",
    ),
    App(
        "SLEPc",
        "python3-slepc4py",
        (PYTHON, "modes.py"),
        numbers(r"eigenvalue (\S+)"),
        tolerance=1e-7,
        inputs=("modes.py",),
        needs="/usr/lib/slepc/lib/python3/dist-packages/slepc4py",
    ),
    App(
        "MUMPS",
        "libmumps-dev gfortran",
        ("./program",),
        numbers(r"sum +(\S+)"),
        tolerance=1e-9,
        prepare=compiled("elimination.f90", "mpif90.openmpi", "-I/usr/include", "-ldmumps"),
        needs="/usr/include/dmumps_struc.h",
    ),
    _ours("pagerank.py", r"(?:steps|largest) (\S+)", tolerance=1e-8),
    _ours("logistic.py", r"loss (\S+)", tolerance=1e-9),
    _ours("vortex.py", r"(?:energy|lost) (\S+)", tolerance=1e-8),
    _ours("tally.py", r"(?:middle|\+-|all) ([0-9.]+)"),
    App(
        "digits.py",
        "",
        (sys.executable, str(ROOT / "examples" / "digits" / "digits.py"), "--epochs", "160"),
        numbers(r"accuracy (\S+)"),
        tolerance=0.003,
        communicates=True,
    ),
)
