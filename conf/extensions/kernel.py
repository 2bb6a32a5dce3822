"""쪽마다의 커널. TensorFlow를 가져온 프로세스 하나에서 갈라져 나옵니다.

커널마다 처음부터 뜨면 쪽의 수만큼 TensorFlow를 가져옵니다. 여기서는 한 번만 가져옵니다.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import forkserver

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

FORK = multiprocessing.get_context("forkserver")
SAFE = sys.platform == "linux"  # macOS의 프레임워크는 갈라져 나오면 멈추기도 합니다


def warm_up(pages):
    """커널이 갈라져 나올 프로세스를 띄웁니다. 거기서 적는 알림은 출력이 아닙니다.

    쪽이 몇 안 되면 TensorFlow를 쓰지 않을 수도 있으므로 커널이 가져오게 둡니다.
    """
    if not SAFE:
        return
    heavy = ["tensorflow", "matplotlib.pyplot"] if pages > os.cpu_count() else []
    FORK.set_forkserver_preload(["ipykernel.kernelapp", *heavy])
    streams = {stream: os.dup(stream) for stream in (1, 2)}
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in streams:
            os.dup2(nothing, stream)
        forkserver.ensure_running()
    finally:
        for stream, kept in streams.items():
            os.dup2(kept, stream)
            os.close(kept)
        os.close(nothing)


def start(command, env, cwd):
    """갈라져 나온 프로세스가 여기서 커널이 됩니다."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # 셀이 시작한 것까지 함께 끝납니다
    os.chdir(cwd)
    os.environ.update(env)
    threading.Thread(target=end_with_the_build, daemon=True).start()
    IPKernelApp.launch_instance(command[command.index("-f") :])


def end_with_the_build():
    multiprocessing.parent_process().join()
    os.killpg(0, signal.SIGKILL)


class Provisioner(LocalProvisioner):
    async def launch_kernel(self, cmd, *, env, cwd, **_):
        self.process = FORK.Process(target=start, args=(cmd, env, cwd))
        self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info

    async def poll(self):
        return self.process.exitcode if self.process else 0

    async def wait(self):
        while await self.poll() is None:
            await asyncio.sleep(0.1)
        self.process = None


class Forked(AsyncKernelManager):
    def __init__(self, **options):
        super().__init__(**options)
        self.provisioner = Provisioner(parent=self, kernel_spec=self.kernel_spec)


KernelManager = Forked if SAFE else AsyncKernelManager
