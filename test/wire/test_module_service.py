# SPDX-License-Identifier: MIT
"""The installed module `service`, with a fake systemctl."""

import pytest

from support import module_files

ASK = ["show", "--property=NeedDaemonReload", "--", "web.service"]


class Systemctl:
    def __init__(self):
        self.calls = []
        self.answers = {}  # maps an action to (retcode, stdout, stderr)

    def __call__(self, command, ignore_retcode):
        assert command[:2] == ["systemctl", "--no-pager"] and ignore_retcode
        self.calls.append(command[2:])
        retcode, stdout, stderr = self.answers.get(command[2], (0, "", ""))
        return {"pid": 1, "retcode": retcode, "stdout": stdout, "stderr": stderr}


@pytest.fixture
def systemctl():
    return Systemctl()


@pytest.fixture
def service(systemctl, tmp_path, monkeypatch):
    module = module_files.load("service", __salt__={"cmd.run_all": systemctl})
    monkeypatch.setattr(module, "FOLDERS", [str(tmp_path / "lib"), str(tmp_path / "etc")])
    for name in ("lib", "etc"):
        (tmp_path / name).mkdir()
    return module


@pytest.mark.parametrize("verb", ["start", "restart", "reload", "force-reload", "enable"])
def test_each_action_calls_systemctl_for_the_unit(service, systemctl, verb):
    function = {"reload": service.reload_, "force-reload": service.force_reload}.get(verb) or getattr(service, verb)
    assert function("web", no_block=False) is True
    assert function("web", no_block=True) is True
    assert systemctl.calls == [ASK, [verb, "--", "web.service"], ASK, [verb, "--no-block", "--", "web.service"]]


def test_an_error_of_systemctl_is_raised(service, systemctl):
    systemctl.answers["start"] = (5, "", "Unit web.service not found.")
    with pytest.raises(module_files.CommandExecutionError, match="^Unit web.service not found.$"):
        service.start("web")


def test_stop_and_disable_return_false_on_failure(service, systemctl):
    assert service.stop("web") is True
    systemctl.answers.update(stop=(5, "", ""), disable=(1, "", ""))
    assert service.disable("web") is False and service.__context__["retcode"] == 0
    assert service.stop("web") is False and service.__context__["retcode"] == 5


def test_changed_unit_files_are_reloaded_before_an_action(service, systemctl):
    systemctl.answers["show"] = (0, "NeedDaemonReload=yes", "")
    assert service.start("web") is True
    assert systemctl.calls == [ASK, ["daemon-reload"], ["start", "--", "web.service"]]
    systemctl.answers["daemon-reload"] = (1, "", "no")
    with pytest.raises(module_files.CommandExecutionError, match="^no$"):
        service.systemctl_reload()


def test_mask_masked_and_unmask_handle_masks(service, systemctl, monkeypatch):
    masked = {"/etc/systemd/system/web.service"}
    monkeypatch.setattr(service.os.path, "islink", masked.__contains__)
    monkeypatch.setattr(service.os, "readlink", lambda path: "/dev/null")
    assert service.masked("web") is True and service.masked("web", runtime=True) is False
    assert service.unmask_("web", runtime=True) is True and systemctl.calls == [ASK]
    systemctl.calls.clear()
    assert service.start("web", unmask=True, unmask_runtime=True) is True
    assert [call[0] for call in systemctl.calls] == ["show", "show", "unmask", "show", "start"]
    systemctl.calls.clear()
    assert service.mask("web", runtime=True) is True
    assert systemctl.calls == [ASK, ["mask", "--runtime", "--", "web.service"]]


def test_status_enabled_and_available_follow_the_exit_status(service, systemctl):
    assert service.status("web") and service.enabled("web.timer") and service.available("web@1")
    assert not service.disabled("web") and not service.missing("web")
    assert ["is-enabled", "--", "web.timer"] in systemctl.calls
    assert ["status", "--lines=0", "--", "web@1.service"] in systemctl.calls
    systemctl.answers.update({"is-active": (3, "", ""), "is-enabled": (1, "", ""), "status": (3, "", "")})
    assert not service.status("web") and service.disabled("web") and service.available("web")
    systemctl.answers["status"] = (4, "", "")
    assert service.missing("web")


def test_get_functions_list_units_by_files_and_state(service, systemctl, tmp_path):
    for name in ("lib/web.service", "lib/web@.service", "etc/backup.timer", "etc/notes.txt", "etc/web.service"):
        (tmp_path / name).write_text("")
    assert service.get_all() == ["backup.timer", "web", "web@"]
    files = "web.service enabled enabled\nssh.socket enabled -\nx.scope enabled -\nmail.service static -\nodd\n"
    systemctl.answers["list-unit-files"] = (0, files, "")
    assert service.get_enabled() == ["ssh.socket", "web"] and service.get_static() == ["mail"]
    assert service.get_disabled() == []
    units = "web.service loaded active running A web server\nmail.service loaded active exited Mail\n"
    systemctl.answers["list-units"] = (0, units, "")
    assert service.get_running() == ["web"]
    assert service.status("web*") == {"web": True, "web@": True} and service.status("[no]d*") == {}


def test_show_returns_the_properties_as_a_dictionary(service, systemctl):
    text = "Id=web.service\nAfter=a.target b.target\nWants=\nEnvironment=A=1 B=2\n"
    text += "ExecStart={ path=/usr/bin/web ; argv[]=/usr/bin/web -d ; ignore_errors=no }\n"
    systemctl.answers["show"] = (0, text, "")
    assert service.show("web") == {
        "Id": "web.service",
        "After": ["a.target", "b.target"],
        "Wants": [],
        "Environment": "A=1 B=2",
        "ExecStart": {"path": "/usr/bin/web", "argv[]": "/usr/bin/web -d", "ignore_errors": "no"},
    }


NO_NAMES = ["--force", "-", "", "a b", "a;b", "../x", "a/b", "$(id)", ".hidden", "a\0b", "a\nb", "web\n", "{a,b}", "x" * 250]


@pytest.mark.parametrize("name", NO_NAMES)
def test_an_invalid_unit_name_is_refused_before_systemctl_runs(service, systemctl, name):
    for function in (service.start, service.stop, service.enable, service.status, service.show, service.mask, service.masked):
        with pytest.raises(module_files.SaltInvocationError, match="cannot be the name of a unit"):
            function(name)
    assert systemctl.calls == []
