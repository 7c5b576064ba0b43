package lock

// Parking needs locks that are granted at once: the writer that is put aside has changed its rows
// already, while it held the writer lock.

// countRow adds n to the number of rows that a client holds in a database. m.mu must be held.
func (m *Manager) countRow(database int, c *Client, n int) {
	if m.rows == nil {
		m.rows = map[int]map[*Client]int{}
	}
	held := m.rows[database]
	if held == nil {
		held = map[*Client]int{}
		m.rows[database] = held
	}
	if held[c] += n; held[c] == 0 {
		delete(held, c)
	}
}

// HasRows reports whether a client other than o's holds rows or keys of a database.
func (m *Manager) HasRows(o *Owner, database int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.rows[database]
	return len(held) > 1 || len(held) == 1 && held[o.client] == 0
}

// Grant makes o a holder of a resource, whoever else holds it, or joins mode to the mode that o
// holds.
func (m *Manager) Grant(o *Owner, r Resource, mode Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grantNow(o, r, mode)
}

// grantNow is Grant with m.mu held. One Unlock releases it.
func (m *Manager) grantNow(o *Owner, r Resource, mode Mode) {
	st := m.state(r)
	if h := o.held[r]; h != nil {
		h.mode = join(h.mode, mode)
		return
	}
	m.grant(st, &request{owner: o, res: r, mode: mode})
}

// GrantIfFree is Grant if no other client holds the resource in an incompatible mode. It overtakes
// those that wait.
func (m *Manager) GrantIfFree(o *Owner, r Resource, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conflicts(o, r, mode) {
		return false
	}
	m.grantNow(o, r, mode)
	return true
}

// Conflicts reports whether another client holds a resource in a mode that is incompatible with
// mode, unless o holds the resource in that mode itself.
func (m *Manager) Conflicts(o *Owner, r Resource, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conflicts(o, r, mode)
}

// conflicts is Conflicts with m.mu held.
func (m *Manager) conflicts(o *Owner, r Resource, mode Mode) bool {
	st := m.res[r]
	if st == nil {
		return false
	}
	if h := o.held[r]; h != nil && join(h.mode, mode) == h.mode {
		return false
	}
	for other, h := range st.holders {
		if other.client != o.client && !Compatible(h.mode, mode) {
			return true
		}
	}
	return false
}

// Awaited reports whether a request waits for a resource.
func (m *Manager) Awaited(r Resource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.res[r]
	return st != nil && len(st.queue) > 0
}
