package sim

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// term starts a term of an agent, which ends the agent's former term.
func (m *model) term(t *rapid.T) {
	m.termOf(t, rapid.IntRange(0, len(m.agents)-1).Draw(t, "agent"))
}

// termOf starts a term of the agent i.
func (m *model) termOf(t *rapid.T, i int) *modelTerm {
	term, err := m.store.StartTerm(t.Context(), controldb.Agent{ID: m.agents[i], Host: "h", Version: "1", MaxConcurrentTargets: modelMax}, modelLease)
	require.NoError(t, err)
	for _, old := range m.terms {
		if old.agent == i {
			old.ended = true
		}
	}
	m.handOver()
	started := &modelTerm{id: term.ID, agent: i, expires: m.clock.Now().Add(modelLease)}
	started.holds(m.clock)
	m.terms = append(m.terms, started)
	return started
}

// lose lets an agent claim tasks and then renew or confirm its term late or never, while another
// agent makes passes and the clock jumps.
func (m *model) lose(t *rapid.T) {
	m.start(t)
	lost := m.termOf(t, 0)
	m.passOf(t, lost)
	m.termOf(t, 1)
	for range rapid.IntRange(0, 5).Draw(t, "events") {
		switch rapid.IntRange(0, 4).Draw(t, "event") {
		case 0:
			m.wait(t)
		case 1:
			m.jump(t)
		case 2:
			m.confirmOf(t, lost)
		case 3:
			m.renewOf(t, lost)
		default:
			m.steady(t, 5)
		}
	}
	m.steady(t, 20)
}

// anyTerm draws one of the latest terms, which may have ended.
func (m *model) anyTerm(t *rapid.T) *modelTerm {
	if len(m.terms) == 0 {
		t.Skip("not applicable, so rapid draws another action: no term")
	}
	return rapid.SampledFrom(m.terms[max(0, len(m.terms)-4):]).Draw(t, "term")
}

// refusedUnlessItLasts checks that a call was refused if and only if the term has ended, and
// returns whether the call was accepted.
func (m *model) refusedUnlessItLasts(t *rapid.T, term *modelTerm, err error) bool {
	if m.lasts(term) {
		require.NoError(t, err)
		return true
	}
	require.ErrorIs(t, err, dberror.ErrTermEnded)
	return false
}

// renew renews a term.
func (m *model) renew(t *rapid.T) {
	m.renewOf(t, m.anyTerm(t))
}

// renewOf renews the term.
func (m *model) renewOf(t *rapid.T, term *modelTerm) {
	_, err := m.store.RenewTerm(t.Context(), term.id, modelLease)
	if m.refusedUnlessItLasts(t, term, err) {
		term.expires = m.clock.Now().Add(modelLease)
		term.holds(m.clock)
	}
}

// confirm asks whether a term lasts although it cannot be renewed.
func (m *model) confirm(t *rapid.T) {
	m.confirmOf(t, m.anyTerm(t))
}

// confirmOf asks whether the term lasts.
func (m *model) confirmOf(t *rapid.T, term *modelTerm) {
	confirmed, err := m.store.ConfirmTerm(t.Context(), term.id)
	require.NoError(t, err)
	require.Equal(t, !term.ended && m.gaps < modelGaps && m.advanced.Before(m.clock.Now().Add(-modelGap)), confirmed)
	if confirmed {
		term.holds(m.clock)
	}
}

// latest returns the latest term that lasts, or nil.
func (m *model) latest() *modelTerm {
	for _, t := range slices.Backward(m.terms) {
		if m.lasts(t) {
			return t
		}
	}
	return nil
}

// end ends a term.
func (m *model) end(t *rapid.T) {
	term := m.anyTerm(t)
	if m.refusedUnlessItLasts(t, term, m.store.EndTerm(t.Context(), term.id)) {
		term.ended = true
		m.handOver()
	}
}
