package lock

import (
	"cmp"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// blockers are the other sessions that a waiting request cannot go before: holders in its way, and all who
// wait ahead of it. They are ordered by session id.
func (m *Manager) blockers(req *request) []*Session {
	st := m.res[req.res]
	var out []*Session
	add := func(s *Session) {
		if s != req.owner.session && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for o, h := range st.holders {
		if !Compatible(h.mode, req.mode) {
			add(o.session)
		}
	}
	for _, q := range st.queue {
		if q == req {
			break
		}
		add(q.owner.session) // the queue is served in order, compatible or not
	}
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.SPID, b.SPID) })
	return out
}

// breakDeadlock looks for cycles of waiting sessions that a new wait has closed, and refuses one request of
// each: that of the session with the lowest priority, and among equals the new one.
func (m *Manager) breakDeadlock(req *request) {
	for req.owner.session.waiting == req {
		cycle := m.cycle(req.owner.session)
		if cycle == nil {
			return
		}
		victim := cycle[0]
		for _, s := range cycle[1:] {
			if s.priority < victim.priority {
				victim = s
			}
		}
		m.refuse(victim.waiting, mserr.Deadlock(victim.SPID, "lock"))
	}
}

// cycle returns the sessions of a cycle through start, start first; nil if there is none.
func (m *Manager) cycle(start *Session) []*Session {
	visited := map[*Session]bool{}
	var walk func(s *Session, path []*Session) []*Session
	walk = func(s *Session, path []*Session) []*Session {
		if s.waiting == nil {
			return nil
		}
		for _, next := range m.blockers(s.waiting) {
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
	return walk(start, []*Session{start})
}
