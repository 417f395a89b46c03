"""The command that fills metrics into rows."""

from typer.testing import CliRunner

from lockstep_bench.commands import rescore


def test_the_command_refuses_unknown_metrics(tmp_path):
    ran = CliRunner().invoke(rescore.app, [str(tmp_path), "--metrics", "nmll_dyadic,rel_cov"])
    assert ran.exit_code == 2
    assert "rel_cov: not computed from predictions" in " ".join(ran.output.replace("│", " ").split())


def test_the_command_refuses_a_folder_without_rows(tmp_path):
    ran = CliRunner().invoke(rescore.app, [str(tmp_path), "--metrics", "crps"])
    assert ran.exit_code == 2
    assert "has no folder 'cells'" in " ".join(ran.output.replace("│", " ").split())
