/** Each edge has one vertex in each of three parts. */
export const PARTS = 3;
/** Value of a vertex that is assigned to no edge. It counts as 0 modulo 3. */
export const FREE = 3;

/**
 * A random graph in which each edge has three vertices, for `PerfectHash` and `BinaryFuseFilter`. Peeling takes away an edge with a vertex that
 * no other edge has, and assigns the edge to this vertex, until no edge is left. A vertex keeps only the number of its
 * edges and the exclusive or of their indices, which is the index of the last one (Belazzougui, Boldi, Ottaviano,
 * Venturini, Vigna: "Cache-Oblivious Peeling of Random Hypergraphs", DCC 2014).
 */
export class PeelGraph {
  readonly #edges: Uint32Array;
  readonly #degrees: Uint32Array;
  readonly #edgesOf: Uint32Array;
  /** Edges and their vertices, in the order in which they were taken away. */
  readonly #order: Uint32Array;
  readonly #assigned: Uint32Array;
  #peeled = 0;

  constructor(edgeCount: number, vertexCount: number) {
    this.#edges = new Uint32Array(edgeCount * PARTS);
    this.#degrees = new Uint32Array(vertexCount);
    this.#edgesOf = new Uint32Array(vertexCount);
    this.#order = new Uint32Array(edgeCount);
    this.#assigned = new Uint32Array(edgeCount);
  }

  setVertex(edge: number, part: number, vertex: number): void {
    this.#edges[edge * PARTS + part] = vertex;
    this.#degrees[vertex]!++;
    this.#edgesOf[vertex]! ^= edge;
  }

  /** Returns whether no edge is left. */
  peel(): boolean {
    // A vertex has a single edge at most once, from the beginning or after a removal.
    const single = new Uint32Array(this.#degrees.length);
    let waiting = 0;
    for (let vertex = 0; vertex < this.#degrees.length; vertex++) {
      if (this.#degrees[vertex] === 1) single[waiting++] = vertex;
    }
    while (waiting > 0) {
      const vertex = single[--waiting]!;
      if (this.#degrees[vertex] !== 1) continue;
      const edge = this.#edgesOf[vertex]!;
      this.#order[this.#peeled] = edge;
      this.#assigned[this.#peeled++] = vertex;
      for (let at = edge * PARTS; at < (edge + 1) * PARTS; at++) {
        const other = this.#edges[at]!;
        this.#edgesOf[other]! ^= edge;
        if (--this.#degrees[other]! === 1) single[waiting++] = other;
      }
    }
    return this.#peeled === this.#order.length;
  }

  /**
   * The value of each vertex, 0 to 2 or `FREE`: modulo 3, the sum of the three values of an edge is the part of the
   * vertex that it is assigned to. The edge that was taken away last comes first, because the assigned vertex of an edge
   * belongs to no edge that was taken away later.
   */
  assign(): Uint8Array {
    const values = new Uint8Array(this.#degrees.length).fill(FREE);
    for (let index = this.#peeled - 1; index >= 0; index--) {
      const at = this.#order[index]! * PARTS;
      const vertex = this.#assigned[index]!;
      let part = 0;
      let others = 0;
      for (let each = 0; each < PARTS; each++) {
        if (this.#edges[at + each] === vertex) part = each;
        else others += values[this.#edges[at + each]!]!;
      }
      values[vertex] = (part + 2 * FREE - others) % PARTS;
    }
    return values;
  }

  /**
   * Sets the vertices so that the exclusive or of the three of each edge is the value of the edge.
   * @param values - one for each vertex, all 0
   */
  assignExclusiveOr(values: Uint8Array | Uint16Array, valueOf: (edge: number) => number): void {
    for (let index = this.#peeled - 1; index >= 0; index--) {
      const edge = this.#order[index]!;
      const at = edge * PARTS;
      const [a, b, c] = [this.#edges[at]!, this.#edges[at + 1]!, this.#edges[at + 2]!];
      // The assigned vertex is still 0.
      values[this.#assigned[index]!] = valueOf(edge) ^ values[a]! ^ values[b]! ^ values[c]!;
    }
  }
}
