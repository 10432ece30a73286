"""Drives a client of NCCL, unmodified, as its users would: one thread per rank, one device
per thread. The values are those of the mission's example, worked out by hand.

    python client.py CLIENT RANKS
"""

import ctypes
import faulthandler
import importlib.metadata
import sys
import threading

from cuda.bindings import driver as cu

# A hang is an error, with every thread's stack.
faulthandler.dump_traceback_later(60, exit=True)


def checked(answer):
    """What a call of the driver gave, if it worked."""
    code, *rest = answer
    assert code == cu.CUresult.CUDA_SUCCESS, code
    return rest[0] if rest else None


class Memory:
    """Device memory that holds 32-bit integers."""

    def __init__(self, numbers):
        self.len = len(numbers)
        self.at = int(checked(cu.cuMemAlloc(4 * self.len)))
        host = (ctypes.c_int32 * self.len)(*numbers)
        checked(cu.cuMemcpyHtoD(self.at, ctypes.addressof(host), 4 * self.len))

    def read(self):
        host = (ctypes.c_int32 * self.len)()
        checked(cu.cuMemcpyDtoH(ctypes.addressof(host), self.at, 4 * self.len))
        return list(host)

    @property
    def __cuda_array_interface__(self):
        # -1: no stream has to be waited for.
        return {
            "shape": (self.len,),
            "typestr": "<i4",
            "data": (self.at, False),
            "version": 3,
            "strides": None,
        }


class Cupy:
    package = "cupy-cuda13x"

    def __init__(self):
        from cupy.cuda import nccl

        self.nccl = nccl

    def unique_id(self):
        return self.nccl.get_unique_id()

    def join(self, ranks, unique_id, rank):
        return self.nccl.NcclCommunicator(ranks, unique_id, rank)

    def start(self):
        self.nccl.groupStart()

    def end(self):
        self.nccl.groupEnd()

    def all_reduce(self, comm, send, recv, stream):
        nccl = self.nccl
        comm.allReduce(send.at, recv.at, send.len, nccl.NCCL_INT32, nccl.NCCL_SUM, stream)

    def all_gather(self, comm, send, recv, stream):
        comm.allGather(send.at, recv.at, send.len, self.nccl.NCCL_INT32, stream)

    def reduce_scatter(self, comm, send, recv, stream):
        nccl = self.nccl
        comm.reduceScatter(send.at, recv.at, recv.len, nccl.NCCL_INT32, nccl.NCCL_SUM, stream)

    def broadcast(self, comm, send, recv, root, stream):
        comm.broadcast(send.at, recv.at, recv.len, self.nccl.NCCL_INT32, root, stream)

    def send(self, comm, send, peer, stream):
        comm.send(send.at, send.len, self.nccl.NCCL_INT32, peer, stream)

    def recv(self, comm, recv, peer, stream):
        comm.recv(recv.at, recv.len, self.nccl.NCCL_INT32, peer, stream)

    def handle(self, comm):
        return comm.comm


class Nccl4py:
    package = "nccl4py"

    def __init__(self):
        import nccl.core

        self.nccl = nccl.core

    def unique_id(self):
        return self.nccl.get_unique_id()

    def join(self, ranks, unique_id, rank):
        from cuda.core import Device

        Device(rank).set_current()
        return self.nccl.Communicator.init(ranks, rank, unique_id)

    def start(self):
        self.nccl.group_start()

    def end(self):
        self.nccl.group_end()

    def all_reduce(self, comm, send, recv, stream):
        comm.allreduce(send, recv, self.nccl.SUM, stream=stream)

    def all_gather(self, comm, send, recv, stream):
        comm.allgather(send, recv, stream=stream)

    def reduce_scatter(self, comm, send, recv, stream):
        comm.reduce_scatter(send, recv, self.nccl.SUM, stream=stream)

    def broadcast(self, comm, send, recv, root, stream):
        comm.broadcast(send, recv, root, stream=stream)

    def send(self, comm, send, peer, stream):
        comm.send(send, peer, stream=stream)

    def recv(self, comm, recv, peer, stream):
        comm.recv(recv, peer, stream=stream)

    def handle(self, comm):
        return comm.ptr


# What ranks contribute and what comes out, by the number of ranks.
ORIGINALS = [[1, 2, 3, 4], [10, 20, 30, 40], [100, 200, 300, 400], [1000, 2000, 3000, 4000]]
SUMS = {2: [11, 22, 33, 44], 4: [1111, 2222, 3333, 4444]}
SHARDS = {2: [[11, 22], [33, 44]], 4: [[1111], [2222], [3333], [4444]]}
GATHERED = {
    2: [1, 2, 3, 4, 10, 20, 30, 40],
    4: [1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400, 1000, 2000, 3000, 4000],
}


def run(client, ranks):
    unique_id, barrier = client.unique_id(), threading.Barrier(ranks)
    library = ctypes.CDLL("libnccl.so.2")
    library.rankwise_stand_in.restype = ctypes.c_char_p
    library.ncclGetLastError.restype = ctypes.c_char_p
    library.ncclGetLastError.argtypes = [ctypes.c_void_p]
    print(f"{client.package} {importlib.metadata.version(client.package)}, {ranks} ranks,")
    print(f"  on {library.rankwise_stand_in().decode()}")
    failures = []

    def rank_program(rank):
        device = checked(cu.cuDeviceGet(rank))
        checked(cu.cuCtxSetCurrent(checked(cu.cuDevicePrimaryCtxRetain(device))))
        comm = client.join(ranks, unique_id, rank)
        stream = int(checked(cu.cuStreamCreate(1)))

        def expect(what, memory, wanted):
            checked(cu.cuStreamSynchronize(stream))
            found = memory.read()
            assert found == wanted, f"{what}: rank {rank} holds {found}, not {wanted}"
            if rank == 0:
                print(f"  {what}: {found}")

        def blank(count):
            return Memory([-1] * count)

        own, sums = Memory(ORIGINALS[rank]), blank(4)
        client.all_reduce(comm, own, sums, stream)
        expect("all_reduce", sums, SUMS[ranks])
        gathered = blank(4 * ranks)
        client.all_gather(comm, own, gathered, stream)
        expect("all_gather", gathered, GATHERED[ranks])
        shard = blank(4 // ranks)
        client.reduce_scatter(comm, own, shard, stream)
        expect("reduce_scatter", shard, SHARDS[ranks][rank])
        whole = blank(4)
        client.all_gather(comm, shard, whole, stream)
        expect("all_gather of the shards", whole, SUMS[ranks])
        told = blank(4)
        client.broadcast(comm, own, told, 1, stream)
        expect("broadcast from rank 1", told, ORIGINALS[1])
        heard = blank(4)
        client.start()
        client.send(comm, own, (rank + 1) % ranks, stream)
        client.recv(comm, heard, (rank - 1) % ranks, stream)
        client.end()
        expect("send to the next, receive", heard, ORIGINALS[(rank - 1) % ranks])

        # Rank 1 sums three elements where the others sum four: with NCCL, a hang or worse.
        barrier.wait()
        wrong = Memory(ORIGINALS[rank][: 3 if rank == 1 else 4])
        try:
            client.all_reduce(comm, wrong, wrong, stream)
        except Exception as refused:  # whoever comes last may hear of it at once
            assert "invalid usage" in str(refused).lower() or "InvalidUsage" in repr(refused)
        checked(cu.cuStreamSynchronize(stream))
        words = library.ncclGetLastError(client.handle(comm)).decode()
        assert "rank 1" in words and "3" in words and "4" in words, f"no blame in {words!r}"
        if rank == 0:
            print("  a call that does not match ends with:")
            print("    " + words.replace("\n", "\n    "))
        barrier.wait()
        comm.abort()

    def guarded(rank):
        try:
            rank_program(rank)
        except BaseException as failure:
            words = library.ncclGetLastError(None).decode()
            failures.append((rank, f"{type(failure).__name__}: {failure} ({words})"))
            barrier.abort()

    threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank, failure in failures:
        print(f"rank {rank}: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    name, count = sys.argv[1:]
    checked(cu.cuInit(0))
    sys.exit(run({"cupy": Cupy, "nccl4py": Nccl4py}[name](), int(count)))
