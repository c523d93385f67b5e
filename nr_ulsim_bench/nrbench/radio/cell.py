# SPDX-License-Identifier: BSD-3-Clause
"""The cell of a run: a carrier in band 78 with 30 kHz between subcarriers, one antenna on each side, and all
slots full. The texts of the gNB's and of the UE's configuration file.

Names of parameters are OAI's, from v2.3.0 to 2025.w37. Their values are numbers of 3GPP TS 38.331."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

SAMPLE_RATES = {106: 61.44e6, 273: 122.88e6}  # samples per second of carriers of 40 and of 100 MHz, by PRB
BAND = 78
NUMEROLOGY = 1  # 30 kHz
ARFCN_OF_PRB = 24  # 360 kHz in steps of 15 kHz
POINT_A = 640008  # 3600.12 MHz
SSB = POINT_A + 53 * ARFCN_OF_PRB  # its middle lies 53 resource blocks above the carrier's lower end
DL_SLOTS, UL_SLOTS = 7, 2  # of the ten slots of a period of 5 ms; the slot between has symbols of both
DL_SYMBOLS, UL_SYMBOLS = 6, 4  # of that slot
PERIOD_SLOTS = 10
MCS = 28  # of both directions: the largest
NAME = "nrbench"

Values = Mapping[str, Any]


def location_and_bandwidth(prb: int) -> int:
    """A bandwidth part that begins at the carrier's lower end, as TS 38.214 clause 5.1.2.2.2 writes it."""
    if prb <= 138:
        return 275 * (prb - 1)
    return 275 * (275 - prb + 1) + 274


def _serving_cell(prb: int) -> Values:
    """What differs from OAI's defaults, and what decides about the load."""
    whole = location_and_bandwidth(prb)
    return {
        "absoluteFrequencySSB": SSB,
        "dl_absoluteFrequencyPointA": POINT_A,
        "dl_frequencyBand": BAND,
        "dl_subcarrierSpacing": NUMEROLOGY,
        "dl_carrierBandwidth": prb,
        "initialDLBWPlocationAndBandwidth": whole,
        "initialDLBWPcontrolResourceSetZero": 12,
        "initialDLBWPsearchSpaceZero": 0,
        "ul_frequencyBand": BAND,
        "ul_subcarrierSpacing": NUMEROLOGY,
        "ul_carrierBandwidth": prb,
        "initialULBWPlocationAndBandwidth": whole,
        "msg1_SubcarrierSpacing": NUMEROLOGY,
        "p0_NominalWithGrant": -90,
        "p0_nominal": -90,
        "ssb_PositionsInBurst_Bitmap": 1,
        "dl_UL_TransmissionPeriodicity": 6,  # 5 ms
        "nrofDownlinkSlots": DL_SLOTS,
        "nrofDownlinkSymbols": DL_SYMBOLS,
        "nrofUplinkSlots": UL_SLOTS,
        "nrofUplinkSymbols": UL_SYMBOLS,
        "ssPBCH_BlockPower": -25,
    }


def _gnb(prb: int) -> Values:
    node = {
        "gNB_ID": 1,
        "gNB_name": NAME,
        "tracking_area_code": 1,
        "plmn_list": [{"mcc": 1, "mnc": 1, "mnc_length": 2}],
        "min_rxtxtime": 6,
        "servingCellConfigCommon": [_serving_cell(prb)],
    }
    return {
        "Active_gNBs": [NAME],
        "gNBs": [node],
        "MACRLCs": [{"num_cc": 1, "tr_s_preference": "local_L1", "tr_n_preference": "local_RRC"}],
        "L1s": [{"num_cc": 1, "tr_n_preference": "local_mac"}],
        "RUs": [{"local_rf": "yes", "max_pdschReferenceSignalPower": -27, "max_rxgain": 114}],
    }


def _ue() -> Values:
    card = {"imsi": "001010000000001", "key": "0" * 32, "opc": "0" * 32, "dnn": NAME, "nssai_sst": 1}
    return {"uicc0": card}


def _text(value: Any) -> str:
    """As libconfig reads it."""
    if isinstance(value, Mapping):
        return "{ " + " ".join(f"{name} = {_text(one)};" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return f"( {', '.join(map(_text, value))} )"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _file(values: Values) -> str:
    return "".join(f"{name} = {_text(value)};\n" for name, value in values.items())


def gnb_text(prb: int) -> str:
    """The gNB's configuration file."""
    return _file(_gnb(prb))


def ue_text() -> str:
    """The UE's. The carrier comes from the files that the gNB writes."""
    return _file(_ue())


def _names(values: Any) -> Iterator[str]:
    if isinstance(values, Mapping):
        yield from values
    for one in values.values() if isinstance(values, Mapping) else values if isinstance(values, list) else ():
        yield from _names(one)


def unknown_names(program: bytes, side: str) -> list[str]:
    """Parameters of the side's configuration that its program does not know.

    @param program  its file's content: it holds the name of each parameter that it reads"""
    values = _gnb(106) if side == "gnb" else _ue()
    names = (name.removesuffix("0") if name == "uicc0" else name for name in _names(values))
    return [name for name in names if name.encode() not in program]


def load_options(prb: int) -> list[str]:
    """Of the gNB: which slots of a period it fills, with how many resource blocks, in which scheme."""
    downlink = (1 << DL_SLOTS) - 1
    uplink = (1 << PERIOD_SLOTS) - (1 << (PERIOD_SLOTS - UL_SLOTS))
    return f"-D {downlink} -M {prb} -m {MCS} -U {uplink} -T {prb} -t {MCS}".split()
