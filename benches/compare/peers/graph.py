"""A worker of suite `graph`: igraph, scipy, networkx or kuzu, by the protocol of worker.rs."""
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
DAMPING, REACHED = 0.85, 256


class Igraph:
    def load(self, folder, nodes, edges):
        import igraph

        self.graph = igraph.Graph(n=nodes, edges=edges)
        return f"igraph {igraph.__version__}, prpack"

    def full(self, seeds):
        return self.graph.personalized_pagerank(damping=DAMPING, reset_vertices=seeds, implementation="prpack")


class Scipy:
    """Power iteration until all ranks together are at most 1e-6 off."""

    def load(self, folder, nodes, edges):
        import numpy
        import scipy
        import scipy.sparse

        self.numpy, self.nodes = numpy, nodes
        a, b = numpy.array(edges).T
        ones = numpy.ones(2 * len(edges))
        matrix = scipy.sparse.csr_matrix((ones, (numpy.r_[a, b], numpy.r_[b, a])), shape=(nodes, nodes))
        degrees = numpy.asarray(matrix.sum(axis=0)).ravel()
        degrees[degrees == 0] = 1
        self.step = (matrix @ scipy.sparse.diags(1 / degrees)).tocsr() * DAMPING
        return f"scipy {scipy.__version__}, CSR, power iteration to 1e-6"

    def full(self, seeds):
        start = self.numpy.zeros(self.nodes)
        self.numpy.add.at(start, seeds, (1 - DAMPING) / len(seeds))
        now = start / (1 - DAMPING)
        while True:
            after = self.step @ now + start
            off = self.numpy.abs(after - now).sum() * DAMPING / (1 - DAMPING)
            now = after
            if off <= 1e-6:
                return now


class Networkx:
    def load(self, folder, nodes, edges):
        import networkx

        self.networkx = networkx
        self.graph = networkx.Graph()
        self.graph.add_nodes_from(range(nodes))
        self.graph.add_edges_from(edges)
        self.tolerance = 1e-6 * (1 - DAMPING) / DAMPING / nodes
        return f"networkx {networkx.__version__}, tolerance for 1e-6"

    def full(self, seeds):
        personal = dict.fromkeys(seeds, 1)
        ranks = self.networkx.pagerank(self.graph, DAMPING, personal, 1000, self.tolerance)
        return list(ranks.values())


class Kuzu:
    def load(self, folder, nodes, edges):
        import kuzu

        self.connection = kuzu.Connection(kuzu.Database(os.path.join(folder, "compare.kuzu")), num_threads=1)
        run = self.connection.execute
        run("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
        run("CREATE REL TABLE E(FROM N TO N)")
        with open(os.path.join(folder, "nodes.csv"), "w") as file:
            file.writelines(f"{node}\n" for node in range(nodes))
        with open(os.path.join(folder, "edges.csv"), "w") as file:
            file.writelines(f"{a},{b}\n" for a, b in edges)
        run(f'COPY N FROM "{folder}/nodes.csv"')
        run(f'COPY E FROM "{folder}/edges.csv"')
        # Ends are given as a list, and so a statement is prepared once.
        self.query = self.connection.prepare(
            "MATCH (a:N)-[e:E* SHORTEST 1..2]-(b:N) WHERE a.id IN $seeds AND NOT b.id IN $seeds "
            f"RETURN b.id, min(length(e)) LIMIT {REACHED}"
        )
        return f"kuzu {kuzu.__version__}, no bound for a node"

    def expand(self, seeds):
        rows = self.connection.execute(self.query, {"seeds": seeds})
        found = []
        while rows.has_next():
            found.append(tuple(rows.get_next()))
        return found


def main():
    engine = {"igraph": Igraph, "scipy": Scipy, "networkx": Networkx, "kuzu": Kuzu}[sys.argv[1]]()
    folder, queries = sys.argv[2], []
    for line in sys.stdin:
        request = json.loads(line)
        if request == "farewell":
            return
        try:
            (what, given), = request.items()
            if what == "load":
                with open(given) as file:
                    data = json.load(file)
                queries = data["queries"]
                began = time.perf_counter()
                note = engine.load(folder, data["nodes"], [tuple(edge) for edge in data["edges"]])
                done = {"loaded": [time.perf_counter() - began, note]}
            elif what == "run":
                ask, span = getattr(engine, given[0]), given[1]
                nanos, cpu = [], time.process_time_ns()
                for seeds in queries[span["start"]:span["end"]]:
                    began = time.perf_counter_ns()
                    ask(seeds)
                    nanos.append(time.perf_counter_ns() - began)
                done = {"ran": {"nanos": nanos, "cpu_nanos": time.process_time_ns() - cpu}}
            else:
                found = getattr(engine, given[0])(queries[given[1]])
                pairs = found if given[0] == "expand" else [(at, x) for at, x in enumerate(found) if x > 0]
                done = {"answer": [(int(node), float(score)) for node, score in pairs]}
            answer = {"done": done}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
