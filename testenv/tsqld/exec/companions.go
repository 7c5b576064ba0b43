package exec

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// soleInTransaction returns error 3981 with a state if another request has begun in the open
// transaction and has not ended.
func (r transactions) soleInTransaction(state uint8) error {
	if c, ok := r.out.Companion(); ok && c.OthersInTransaction(r.s.Descriptor()) {
		return mserr.OthersInTransaction(state)
	}
	return nil
}

// The states of error 3981.
const (
	endsTransaction uint8 = 1
	setsSavepoint   uint8 = 2
)

// scopeToBatch makes the transaction that a statement has begun end with its request, if the client
// may have several requests. (Documentation of BEGIN TRANSACTION: "a Transact-SQL explicit or
// implicit transaction that starts under a MARS session becomes a batch-scoped transaction".)
func (r transactions) scopeToBatch() {
	if t := &r.s.Tran; r.s.Client.Multiple && t.Level() == 1 && !t.Unseen() {
		t.EndWithRequest()
	}
}

// endBatchScope rolls the transaction back that a request has begun and not ended.
func (s *Session) endBatchScope(r *run) error {
	if !s.Tran.EndsWithRequest() {
		return nil
	}
	m := mserr.ActiveAtBatchEnd()
	m.Line = 1
	s.LastError = m.Number
	return errors.Join(r.out.Message(m), s.rollback(r), r.out.Done(answer.Done{Error: true, Command: answer.CommandBatch}))
}
