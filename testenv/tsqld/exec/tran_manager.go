package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Begin executes a transaction manager request: it begins a transaction, or another level of the
// open transaction.
func (s *Session) Begin(ctx context.Context, isolation Isolation, name string, sink answer.Sink) error {
	return s.serve(ctx, sink, "BEGIN TRANSACTION", func(r *run) error {
		if isolation != 0 {
			s.Options.Isolation = isolation
		}
		return transactions{r}.reportManagerError(s.begin(r, name))
	})
}

// Commit executes a transaction manager request.
func (s *Session) Commit(ctx context.Context, sink answer.Sink) error {
	return s.serve(ctx, sink, "COMMIT TRANSACTION", func(r *run) error {
		switch {
		case !s.Tran.Open():
			return transactions{r}.reportManagerError(mserr.CommitWithoutBegin())
		case s.Tran.Doomed():
			return transactions{r}.reportManagerError(mserr.Uncommittable())
		case s.Tran.Level() == 1:
			if err := (transactions{r}).soleInTransaction(endsTransaction); err != nil {
				return errors.Join(transactions{r}.reportManagerError(err), s.rollback(r))
			}
		}
		return transactions{r}.reportManagerError(s.commit(r))
	})
}

// Rollback executes a transaction manager request. name is a savepoint; "" means the whole
// transaction.
func (s *Session) Rollback(ctx context.Context, name string, sink answer.Sink) error {
	return s.serve(ctx, sink, "ROLLBACK TRANSACTION", func(r *run) error {
		switch {
		case !s.Tran.Open():
			return transactions{r}.reportManagerError(mserr.RollbackWithoutBegin())
		case name != "" && (s.HasSavepoint(name) || !catalog.EqualNames(name, s.Tran.Name())):
			return transactions{r}.reportManagerError(s.RollbackTo(name))
		}
		return transactions{r}.reportManagerError(s.rollback(r))
	})
}

// Save executes a transaction manager request.
func (s *Session) Save(ctx context.Context, name string, sink answer.Sink) error {
	return s.serve(ctx, sink, "SAVE TRANSACTION", func(r *run) error {
		if s.Tran.Open() {
			if err := (transactions{r}).soleInTransaction(setsSavepoint); err != nil {
				return errors.Join(transactions{r}.reportManagerError(err), s.rollback(r))
			}
		}
		return transactions{r}.reportManagerError(s.SetSavepoint(ctx, name))
	})
}

// reportManagerError sends the error of a transaction manager request.
func (r transactions) reportManagerError(err error) error {
	if err == nil {
		return nil
	}
	m := r.message(err)
	if m == nil {
		return err
	}
	m.Line = 1
	return errors.Join(r.out.Message(m), r.out.Done(answer.Done{Error: true}))
}
