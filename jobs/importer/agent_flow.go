package importer

import (
	"cmp"
	"math/bits"
	"slices"
)

// agentFlow is the order of the steps of a job of SQL Server Agent. There, one step after the other
// runs, and the outcome of each says which is next: a graph. Here, a step starts after other steps
// and after one of their results. plan finds these conditions, and compares what runs under them
// with what ran there.
type agentFlow struct {
	nodes []flowNode // in an order in which each comes after those that lead to it
	// steps are the steps of the nodes without passes. Their indexes here are those in vectors.
	steps []int
	// dropped are edges that lead to no step, or back to one that has run.
	dropped []flowEdge
	failed  bitset // the vectors with which the job of SQL Server Agent ends as failed
	// vectors are the outcomes of all steps that are compared.
	vectors flowVectors
}

// flowNode is a step that some outcomes reach, or a step that is added ("pass").
type flowNode struct {
	step int // index of the steps; of a pass, that of the step after which it goes on
	// pass means that the step does nothing: it succeeds where the step before it has failed, so
	// that other steps can go on.
	pass bool
	// after are indexes of the nodes that come before it.
	after   []int
	runWhen string // Succeeded, Failed or Finished

	there, here bitset // the vectors with which it runs in SQL Server Agent, and here
	result      bitset // the vectors with which its result is succeeded
	ok          bitset // the vectors with which it succeeds if it runs
}

// flowEdge is an edge of the graph.
type flowEdge struct {
	from    int // index of the steps
	success bool
	to      int // step_id
	back    bool
}

// bitset is a set of vectors.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

// flowVectors are outcomes of all steps: each vector has the steps that fail. All vectors are
// compared for a few steps, otherwise those with the fewest failures.
type flowVectors struct {
	failing [][]int
	all     bitset
}

// Numbers of steps up to which all vectors, or those with up to two failures, are compared.
const (
	maxAllVectors  = 10
	maxPairVectors = 60
)

func newFlowVectors(steps int) (v flowVectors) {
	if steps <= maxAllVectors {
		for mask := range 1 << steps {
			var failing []int
			for i := range steps {
				if mask&(1<<i) != 0 {
					failing = append(failing, i)
				}
			}
			v.failing = append(v.failing, failing)
		}
		slices.SortStableFunc(v.failing, func(x, y []int) int { return cmp.Compare(len(x), len(y)) })
	} else {
		v.failing = append(v.failing, nil)
		for i := range steps {
			v.failing = append(v.failing, []int{i})
		}
		for i := range steps {
			for k := i + 1; k < steps && steps <= maxPairVectors; k++ {
				v.failing = append(v.failing, []int{i, k})
			}
		}
	}
	v.all = v.none()
	for i := range v.failing {
		v.all.set(i)
	}
	return v
}

func (v flowVectors) none() bitset { return make(bitset, (len(v.failing)+63)/64) }

// ok returns the vectors with which a step succeeds.
func (v flowVectors) ok(step int) bitset {
	b := v.none()
	for i, failing := range v.failing {
		if !slices.Contains(failing, step) {
			b.set(i)
		}
	}
	return b
}

// difference is a vector with which a step runs here or there only.
type difference struct {
	failing []int
	here    bool
}

// cost weighs the vectors with which a condition is wrong: the fewer failures, the more likely.
func (v flowVectors) cost(there, here bitset) (cost int, first *difference) {
	for w := range there {
		for rest := there[w] ^ here[w]; rest != 0; rest &= rest - 1 {
			i := w*64 + bits.TrailingZeros64(rest)
			weight := 1
			if k := len(v.failing[i]); k < 3 {
				weight = []int{1_000_000_000, 1_000_000, 1_000}[k]
			}
			cost += weight
			if first == nil { // vectors with fewer failures come first
				first = &difference{v.failing[i], here.has(i)}
			}
		}
	}
	return cost, first
}

// agentNext returns the index of the step that follows an outcome: -1 if the job ends, and then
// how. The steps are sorted by their ids. ok is false if the step does not exist.
func agentNext(steps []AgentStep, i int, success bool) (next int, failed, ok bool) {
	action, id := steps[i].OnSuccess, steps[i].OnSuccessStep
	if !success {
		action, id = steps[i].OnFail, steps[i].OnFailStep
	}
	switch action {
	case quitWithSuccess:
		return -1, false, true
	case goToNext:
		if i+1 < len(steps) {
			return i + 1, false, true
		}
		return -1, !success, true
	case goToStep:
		if next = slices.IndexFunc(steps, func(s AgentStep) bool { return s.ID == id }); next >= 0 {
			return next, false, true
		}
		return -1, true, false
	}
	return -1, true, true
}

// newAgentFlow reads the graph of the steps, which are sorted by their ids, from a first one on.
func newAgentFlow(steps []AgentStep, start int) *agentFlow {
	f := &agentFlow{}
	edges := map[[2]int]int{} // from and outcome (1 success) to the step
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(steps))
	var order []int
	// The walk has a stack of its own, because a file may have thousands of steps.
	type frame struct{ step, outcome int }
	stack := []frame{{start, 1}}
	state[start] = open
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.outcome < 0 {
			state[top.step] = done
			order = append(order, top.step)
			stack = stack[:len(stack)-1]
			continue
		}
		from, success := top.step, top.outcome == 1
		top.outcome--
		next, _, ok := agentNext(steps, from, success)
		switch {
		case !ok || next >= 0 && state[next] == open:
			id := steps[from].OnSuccessStep
			if !success {
				id = steps[from].OnFailStep
			}
			if next >= 0 {
				id = steps[next].ID
			}
			f.dropped = append(f.dropped, flowEdge{from: from, success: success, to: id, back: next >= 0})
		case next >= 0:
			edges[[2]int{from, top.outcome + 1}] = next
			if state[next] == fresh {
				state[next] = open
				stack = append(stack, frame{next, 1})
			}
		}
	}
	f.order(steps, edges, order, start)
	return f
}

// order makes the nodes in an order in which each comes after those that lead to it, of which the
// one with the lowest id comes first, and computes what runs in SQL Server Agent.
func (f *agentFlow) order(steps []AgentStep, edges map[[2]int]int, reached []int, start int) {
	slices.Sort(reached)
	waits := map[int]int{}
	for _, to := range edges {
		waits[to]++
	}
	index := map[int]int{}
	ready := []int{start}
	for len(ready) > 0 {
		slices.Sort(ready)
		step := ready[0]
		ready = ready[1:]
		index[step] = len(f.nodes)
		f.nodes = append(f.nodes, flowNode{step: step, runWhen: runSucceeded})
		f.steps = append(f.steps, step)
		for outcome := 1; outcome >= 0; outcome-- {
			if to, has := edges[[2]int{step, outcome}]; has {
				if waits[to]--; waits[to] == 0 {
					ready = append(ready, to)
				}
			}
		}
	}
	f.vectors = newFlowVectors(len(f.nodes))
	f.failed = f.vectors.none()
	for i := range f.nodes {
		f.nodes[i].there, f.nodes[i].ok = f.vectors.none(), f.vectors.ok(i)
	}
	copy(f.nodes[0].there, f.vectors.all)
	for i := range f.nodes {
		n := &f.nodes[i]
		for outcome := range 2 {
			taken := f.vectors.none()
			for w := range taken {
				taken[w] = n.there[w] & n.ok[w]
				if outcome == 0 {
					taken[w] = n.there[w] &^ n.ok[w]
				}
			}
			into := f.failed
			if to, has := edges[[2]int{n.step, outcome}]; has {
				into = f.nodes[index[to]].there
			} else if next, failed, ok := agentNext(steps, n.step, outcome == 1); ok && next < 0 && !failed {
				continue
			}
			for w := range into {
				into[w] |= taken[w]
			}
		}
	}
	f.plan(edges, index)
}

// The values of @run_when.
const (
	runSucceeded = "Succeeded"
	runFailed    = "Failed"
	runFinished  = "Finished"
)

// run computes the vectors with which a step runs here, and those with which its result is
// succeeded for the steps after it: a step that is skipped by its condition has the result that
// sql/DESIGN.md, "Dependencies", names.
func (f *agentFlow) run(nodes []flowNode, n *flowNode) {
	n.here, n.result = f.vectors.none(), f.vectors.none()
	for w := range n.here {
		good := f.vectors.all[w]
		for _, a := range n.after {
			good &= nodes[a].result[w]
		}
		switch n.runWhen {
		case runSucceeded:
			n.here[w] = good
			n.result[w] = good & n.ok[w]
		case runFailed:
			n.here[w] = f.vectors.all[w] &^ good
			n.result[w] = good | n.ok[w]
		default:
			n.here[w] = f.vectors.all[w]
			n.result[w] = n.ok[w]
		}
		n.result[w] &= f.vectors.all[w]
	}
}

// plan chooses the condition of each step: of those that come into question, the one that lets it
// run when it ran in SQL Server Agent; else the one that is wrong in the least likely cases.
func (f *agentFlow) plan(edges map[[2]int]int, index map[int]int) {
	list := f.nodes
	into := make([]map[int]bool, len(list)) // the nodes that lead to a node; true: with both outcomes
	for i := range into {
		into[i] = map[int]bool{}
	}
	for edge, to := range edges {
		other, has := edges[[2]int{edge[0], 1 - edge[1]}]
		into[index[to]][index[edge[0]]] = has && other == to
	}
	f.nodes = nil
	at := make([]int, len(list)) // where a node is among those with passes
	passes := map[int]int{}
	for i := range list {
		n := list[i]
		var from, both []int
		for p, always := range into[i] {
			from = append(from, at[p])
			if always {
				both = append(both, at[p])
			}
		}
		slices.Sort(from)
		slices.Sort(both)
		best := f.choose(n, from, both)
		for k, a := range best.after { // make the passes that it needs
			if a >= 0 {
				continue
			}
			of := -a - 1
			if _, has := passes[of]; !has {
				p := flowNode{step: f.nodes[of].step, pass: true, after: []int{of}, runWhen: runFailed, there: f.vectors.none(), ok: f.vectors.all}
				f.run(f.nodes, &p)
				passes[of] = len(f.nodes)
				f.nodes = append(f.nodes, p)
			}
			best.after[k] = passes[of]
		}
		slices.Sort(best.after)
		f.run(f.nodes, &best)
		at[i] = len(f.nodes)
		f.nodes = append(f.nodes, best)
	}
}

// choose returns a node with its best condition. In after, -i-1 stands for the pass of the node i,
// which need not exist yet: its result is succeeded with all vectors.
func (f *agentFlow) choose(n flowNode, from, both []int) flowNode {
	if len(from) == 0 { // the first step
		f.run(f.nodes, &n)
		return n
	}
	wide := slices.Clone(from) // and what these come after
	ahead := slices.Clone(from)
	for _, p := range from {
		wide = append(wide, f.nodes[p].after...)
	}
	for _, p := range both { // what they come after, in their place, and their passes
		ahead = slices.DeleteFunc(ahead, func(a int) bool { return a == p })
		ahead = append(append(ahead, f.nodes[p].after...), -p-1)
	}
	best, least := flowNode{}, -1
	for _, set := range [][]int{from, wide, ahead} {
		set = slices.Clone(set)
		slices.Sort(set)
		set = slices.Compact(set)
		for _, when := range []string{runSucceeded, runFailed, runFinished} {
			try := n
			try.runWhen = when
			for _, a := range set {
				if a >= 0 {
					try.after = append(try.after, a)
				}
			}
			f.run(f.nodes, &try) // without the passes, which are always succeeded
			cost, _ := f.vectors.cost(n.there, try.here)
			if least < 0 || cost < least {
				best, least = try, cost
				best.after = set
			}
			if cost == 0 {
				return best
			}
		}
	}
	return best
}

// outcomes returns the first vectors with which the run here fails and the job there does not, and
// the reverse; nil for none. A run is Failed if one of its steps is.
func (f *agentFlow) outcomes() (here, there []difference) {
	failed := f.vectors.none()
	for _, n := range f.nodes {
		for w := range failed {
			failed[w] |= n.here[w] &^ n.ok[w]
		}
	}
	for i, failing := range f.vectors.failing {
		switch h, t := failed.has(i), f.failed.has(i); {
		case h && !t:
			here = append(here, difference{failing, true})
		case t && !h:
			there = append(there, difference{failing, false})
		}
	}
	return fewest(here), fewest(there)
}

// fewest returns the vectors without or with one failure, or else the first one.
func fewest(list []difference) []difference {
	for i, d := range list {
		if len(d.failing) > 1 {
			return list[:max(i, 1)]
		}
	}
	return list
}
