# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its DevTools protocol over two pipes:
JSON messages that end in a NUL. Python's standard library only.

It writes down what a page asks the network for and what it complains about.
"""
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    """The path of a browser, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="loaderbench-browser-")
        theirs_in, self.ours_out = os.pipe()
        self.ours_in, theirs_out = os.pipe()
        # The browser has the pipes as its file descriptors 3 and 4.
        shell = 'exec 3<&%d 4>&%d; exec "$@"' % (theirs_in, theirs_out)
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "-", program, "--headless",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + self.folder,
             "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number = 0
        self.unread = b""
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")
        self.session = None
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.ours_out)
        os.close(self.ours_in)
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.unread:
            more = os.read(self.ours_in, 1 << 16)
            if not more:
                raise AssertionError("the browser is gone")
            self.unread += more
        text, self.unread = self.unread.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.ours_out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        """Returns when the page and all that it loads are there."""
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e["method"] == "Page.loadEventFired"
                      for e in self.events):
            self.events.append(self._message())

    def requests(self):
        """What was asked for besides the page itself."""
        return [e["params"]["request"]["url"] for e in self.events
                if e["method"] == "Network.requestWillBeSent"
                and e["params"].get("type") != "Document"]

    def complaints(self):
        return [json.dumps(e["params"]) for e in self.events
                if e["method"] in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                   "Runtime.exceptionThrown")]

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def look_like(self, width, scheme="light", media="screen"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": scheme}])
