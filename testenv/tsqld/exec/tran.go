package exec

import (
	"context"
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// transactions executes statements that begin and end transactions.
type transactions struct{ *run }

// beginRead prepares a read of databases by the unit u outside a statement transaction. skip tells
// whether there is an alternative plan for ErrSkipped. within tells whether the read is part of a
// SQLite transaction, which it may begin: the databases must then be locked, because the
// transaction could not write after another session has written.
func (s *Session) beginRead(ctx context.Context, n *plan.Needs, u *unit.Unit, skip, within bool) error {
	sc := session.Scope{Databases: n.Databases, Rows: !n.Locks || n.Shares()}
	if skip {
		sc.Past = n.ReadPast
	}
	switch {
	case n.EmptyPast, !s.Tran.Open() && !s.Tran.Begun():
	case !n.Locks && (s.Tran.ReadsSnapshot() || !s.Tran.Begun() && s.Options.Isolation == syntax.Snapshot):
		return s.BeginSnapshot(ctx, n.Databases)
	case n.Locks:
		return s.Enlist(ctx, sc)
	case within, s.Tran.Begun(), s.Options.Isolation >= syntax.RepeatableRead:
		if len(sc.Past) > 0 {
			return s.Enlist(ctx, sc)
		}
		return s.LockShared(ctx, n.Databases, &u.Writes)
	}
	return s.Conn.Databases.Attach(ctx, n.Databases...)
}

// rollback executes ROLLBACK TRANSACTION: it ends the whole transaction and notifies the client.
func (s *Session) rollback(r *run) error {
	id, unseen := s.Tran.ID(), s.Tran.Unseen()
	err := s.RollbackWork()
	s.closeCursorsOnEnd()
	if unseen {
		return err
	}
	return errors.Join(err, r.out.EnvChange(answer.EnvChange{Kind: answer.EnvRollbackTran, Descriptor: id}))
}

// commit ends one level of the transaction. If the outermost level cannot be committed, for example
// because the disk is full, the transaction is rolled back and the client is notified. Without the
// notification the client would go on to send the descriptor of the transaction (error 3989).
func (s *Session) commit(r *run) error {
	if s.Tran.Level() > 1 {
		s.Tran.Unnest()
		return nil
	}
	id, unseen := s.Tran.ID(), s.Tran.Unseen()
	err := s.CommitWork()
	s.closeCursorsOnEnd()
	if unseen {
		return err
	}
	if err != nil {
		return errors.Join(err, r.out.EnvChange(answer.EnvChange{Kind: answer.EnvRollbackTran, Descriptor: id}))
	}
	return r.out.EnvChange(answer.EnvChange{Kind: answer.EnvCommitTran, Descriptor: id})
}

// notifyTransaction notifies the client of a change of the transaction.
func (r transactions) notifyTransaction(kind answer.EnvKind) error {
	return r.out.EnvChange(answer.EnvChange{Kind: kind, Descriptor: r.s.Tran.ID()})
}

// begin begins a transaction, or another level of the open transaction.
func (s *Session) begin(r *run, name string) error {
	if s.Tran.Open() {
		s.Tran.Nest()
		return nil
	}
	s.StartTransaction(name)
	return transactions{r}.notifyTransaction(answer.EnvBeginTran)
}

// noName is the name of a transaction or savepoint in an empty variable. No savepoint can have it.
const noName = "\x00"

// tranName evaluates the name of a transaction or savepoint. Without a name, and for NULL, it
// returns "". Like SQL Server it truncates names to 32 characters. Error 3914 for a variable of
// another type than a character string.
func (r transactions) tranName(e syntax.Expr) (string, error) {
	if e == nil {
		return "", nil
	}
	if l, ok := e.(*syntax.Literal); ok {
		return truncateName(l.Text), nil
	}
	v, t, err := r.eval(e)
	if err != nil || v == nil {
		return "", err
	}
	name, isText := v.(string)
	if !isText || !t.IsString() {
		return "", mserr.Of(3914, t.MessageName())
	}
	if name == "" {
		return noName, nil
	}
	return truncateName(name), nil
}

// truncateName truncates the name of a transaction, and drops blanks at its end.
func truncateName(s string) string {
	const limit = 32
	s = strings.TrimRight(s, " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

// beginTran executes BEGIN TRANSACTION.
func (r transactions) beginTran(st *syntax.BeginTranStmt) error {
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.RowCount = 0
	// "When SET IMPLICIT_TRANSACTIONS is ON, a BEGIN TRANSACTION statement issues two nested
	// transactions" (documentation of SET IMPLICIT_TRANSACTIONS and of BEGIN TRANSACTION).
	if err := r.startImplicitly(); err != nil {
		return err
	}
	err = r.s.begin(r.run, name)
	r.scopeToBatch()
	r.mayLast()
	return err
}

// mayLast notes that a transaction which a batch has begun may last longer than the request. Those
// of procedures end with the procedure, except by mistake.
func (r transactions) mayLast() {
	if !r.nested() {
		r.s.Tran.Lasts()
	}
}

// startImplicitly begins a transaction under SET IMPLICIT_TRANSACTIONS ON, if none is open. The
// statement that calls it is one that begins a transaction.
func (r transactions) startImplicitly() error {
	if !r.s.Options.ImplicitTransactions || r.s.Tran.Open() || r.inFunction {
		return nil
	}
	if err := r.s.begin(r.run, ""); err != nil {
		return err
	}
	r.s.Tran.SetImplicit()
	r.scopeToBatch()
	r.mayLast()
	return nil
}

// beginImplicitly begins the transaction of a statement that begins one whatever it does. The list
// is that of "SET IMPLICIT_TRANSACTIONS (Transact-SQL)". Others begin theirs after compiling:
// SELECT if it selects from a table, and INSERT, UPDATE, DELETE and MERGE.
func (r transactions) beginImplicitly(st syntax.Stmt) error {
	if !r.s.Options.ImplicitTransactions || r.s.Tran.Open() {
		return nil
	}
	switch st.(type) {
	case *syntax.OpenStmt, *syntax.FetchStmt, *syntax.TruncateStmt, *syntax.AlterTableStmt:
		return r.startImplicitly()
	case *syntax.BlockStmt, *syntax.SelectStmt, *syntax.InsertStmt, *syntax.UpdateStmt, *syntax.DeleteStmt,
		*syntax.MergeStmt, *syntax.UnsupportedStmt, *syntax.DeclareStmt:
		return nil
	}
	switch verb, _, _ := strings.Cut(module.StatementName(st), " "); verb {
	case "CREATE", "DROP", "GRANT", "REVOKE":
		return r.startImplicitly()
	}
	return nil
}

// commitTran executes COMMIT.
func (r transactions) commitTran(*syntax.CommitStmt) error {
	s := r.s
	s.RowCount = 0
	switch {
	case !s.Tran.Open():
		return mserr.CommitWithoutBegin()
	case s.Tran.Doomed():
		return mserr.Uncommittable()
	case r.inserting && s.Tran.Level() == 1:
		return mserr.CommitInInsertExec()
	case s.Tran.Level() == 1:
		if err := r.soleInTransaction(endsTransaction); err != nil {
			return err
		}
	}
	return s.commit(r.run)
}

// rollbackTran executes ROLLBACK.
func (r transactions) rollbackTran(st *syntax.RollbackStmt) error {
	s := r.s
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	s.RowCount = 0
	switch {
	case !s.Tran.Open():
		return mserr.RollbackWithoutBegin()
	case r.inserting:
		return mserr.RollbackInInsertExec()
	case name == noName:
		return mserr.UnknownSavepoint("").WithState(2)
	case name != "" && s.HasSavepoint(name):
		return s.RollbackTo(name)
	case name != "" && name != s.Tran.Name(): // unlike savepoints, compared exactly (recorded)
		return s.RollbackTo(name) // fails: there is no such savepoint
	}
	return errors.Join(s.rollback(r.run), triggers(r).forgetRows())
}

// saveTran executes SAVE TRANSACTION.
func (r transactions) saveTran(st *syntax.SaveTranStmt) error {
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.RowCount = 0
	if r.s.Tran.Open() {
		if err := r.soleInTransaction(setsSavepoint); err != nil {
			return err
		}
	}
	return r.s.SetSavepoint(r.ctx, name)
}
