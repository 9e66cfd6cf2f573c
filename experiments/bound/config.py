"""Settings of the bound against measured errors, and what is asked for."""

TITLE = "The bound on the error, and the size that an error takes"
LINE, SPIRALS = "1-D", "2-D spirals"
GAMMAS = {LINE: 16.0, SPIRALS: 256.0}
DELTA = 0.05

# Cases of the errors over D.
UNNORMALISED = "unnormalised features, as in the bound"
NORMALISED = "normalised features, the model's"
CORRECTED = "bound, put right"
PRINTED = "bound, as printed"
# Cases of the rule, by the map.
RULES = {"fourier": "the rule: Fourier features", "landmarks": "the rule: landmarks"}

LARGEST = "largest error"
RMSE = "RMSE"
PROMISED = "error that the bound promises"
DEMANDED = "D that the bound demands for the largest error"
RECOMMENDED = "recommended size"
REACHED = "RMSE with the recommended size"
OUT_OF_REACH = "not reached, largest size tried"

# Shares of draws below the bound, and of recommended sizes that keep their word.
GOALS = {CORRECTED: 1 - DELTA, **dict.fromkeys(RULES.values(), 0.8)}

_RULE = {"errors": [0.3, 0.1, 0.03, 0.01], "most": {"fourier": 2**13, "landmarks": 512}}
_ROWS = {"rows": 4_000, "queries": 1_000}
SIZES = {
    "full": {
        "draws": {"seeds": 30, "sizes": [2**k for k in range(4, 14)]} | _ROWS,
        "rule": {"seeds": 10} | _RULE | _ROWS,
    },
    "quick": {
        "draws": {"seeds": 5, "sizes": [2**k for k in range(4, 11, 2)]} | _ROWS,
        "rule": {"seeds": 2, "errors": [0.3, 0.1], "most": dict.fromkeys(RULES, 1024)}
        | _ROWS,
    },
    "tiny": {
        "draws": {"seeds": 2, "sizes": [16, 64], "rows": 300, "queries": 50},
        "rule": {
            "seeds": 2,
            "errors": [0.5, 1e-4],
            "most": dict.fromkeys(RULES, 256),
            "rows": 300,
            "queries": 50,
        },
    },
}
