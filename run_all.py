"""The command of a checkout: `python run_all.py --suite uci` runs what is missing, and builds the leaderboard."""

from lockstep_bench.run import app

if __name__ == "__main__":
    app()
