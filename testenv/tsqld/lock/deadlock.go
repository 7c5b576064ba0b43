package lock

import (
	"cmp"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// blockers returns the other clients that a waiting request waits for, ordered by session ID:
// holders of incompatible modes, and all clients in front of the request in the queue.
func (m *Manager) blockers(req *request) []*Client {
	st := m.res[req.res]
	var out []*Client
	add := func(c *Client) {
		if c != req.owner.client && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for o, h := range st.holders {
		if !Compatible(h.mode, req.mode) {
			add(o.client)
		}
	}
	for _, q := range st.queue {
		if q == req {
			break
		}
		add(q.owner.client) // the queue is served in order, compatible or not
	}
	slices.SortFunc(out, func(a, b *Client) int { return cmp.Compare(a.SPID, b.SPID) })
	return out
}

// breakDeadlock finds the cycles of waiting clients that a new wait has closed and refuses one
// request of each cycle: the request of the client with the lowest priority, or the new request if
// no other client has a lower priority.
func (m *Manager) breakDeadlock(req *request) {
	for req.owner.client.waiting == req {
		cycle := m.cycle(req.owner.client)
		if cycle == nil {
			return
		}
		victim := cycle[0]
		for _, c := range cycle[1:] {
			if c.priority < victim.priority {
				victim = c
			}
		}
		m.refuse(victim.waiting, mserr.Deadlock(victim.SPID, "lock"))
	}
}

// cycle returns the clients of a cycle of waits through start, with start first, or nil.
func (m *Manager) cycle(start *Client) []*Client {
	visited := map[*Client]bool{}
	var walk func(c *Client, path []*Client) []*Client
	walk = func(c *Client, path []*Client) []*Client {
		if c.waiting == nil {
			return nil
		}
		for _, next := range m.blockers(c.waiting) {
			if next == start {
				return path
			}
			if visited[next] {
				continue
			}
			visited[next] = true
			if found := walk(next, append(slices.Clone(path), next)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk(start, []*Client{start})
}
