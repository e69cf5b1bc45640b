"""Spectra and spreadings in saved scenes: forms of the library by name, and their parameters.

Those of users are functions, which no file can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import SceneFileError, shown
from ..ocean import spectrum, spreading
from ..ocean.spectrum import SeaState, Spectrum
from ..ocean.spreading import Spreading
from .kinds import Kind

_SPECTRA = {
    "phillips": (spectrum.phillips, spectrum.phillips_peak),
    "pierson_moskowitz": (spectrum.pierson_moskowitz, spectrum.pierson_moskowitz_peak),
    "jonswap": (spectrum.jonswap, spectrum.jonswap_peak),
    "tma": (spectrum.tma, spectrum.jonswap_peak),
}
_SPREADINGS = {
    name: getattr(spreading, name)
    for name in ("cosine_squared", "cosine_power", "mitsuyasu", "hasselmann", "donelan_banner")
}


def _form(density: Any, forms: Mapping[str, Any], what: str) -> str:
    """The name of a function of the library."""
    for name, form in forms.items():
        if density is (form[0] if isinstance(form, tuple) else form):
            return name
    raise SceneFileError(f"a {what} has a density of your own\nhelp: leave what has it out, and make it anew")


def _known(name: Any, forms: Mapping[str, Any], what: str) -> Any:
    if not isinstance(name, str) or name not in forms:
        raise SceneFileError(f"a {what} is {shown(name)}\nexpected: {', '.join(forms)}")
    return forms[name]


def _spectrum_arguments(of: Spectrum) -> dict[str, Any]:
    return {"form": _form(of.density, _SPECTRA, "spectrum"), "parameters": dict(of.parameters)}


def _make_spectrum(words: Mapping[str, Any], device: Any) -> Spectrum:
    return Spectrum(*_known(words["form"], _SPECTRA, "spectrum"), **words["parameters"])


def _sea_state_arguments(of: SeaState) -> dict[str, Any]:
    return dict(of.parameters)


def _make_sea_state(words: Mapping[str, Any], device: Any) -> SeaState:
    return SeaState(**words)


def _spreading_arguments(of: Spreading) -> dict[str, Any]:
    return {"form": _form(of.density, _SPREADINGS, "spreading"), "parameter": of.parameter}


def _make_spreading(words: Mapping[str, Any], device: Any) -> Spreading:
    return Spreading(_known(words["form"], _SPREADINGS, "spreading"), words["parameter"], checked=True)


KINDS = {
    "Spectrum": Kind(Spectrum, _spectrum_arguments, _make_spectrum),
    "SeaState": Kind(SeaState, _sea_state_arguments, _make_sea_state),
    "Spreading": Kind(Spreading, _spreading_arguments, _make_spreading),
}
