package exec

import (
	"context"
	"errors"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// run is the execution of one request.
type run struct {
	s   *Session
	ctx context.Context
	out answer.Answer
	f   *frame
	env env

	changes   change.Executor
	tries     int    // open TRY blocks in all frames
	gotoLabel string // target label of a GOTO in progress; "" otherwise

	settled    int   // statements whose effect on @@ERROR is decided, in all frames
	raised     int32 // the @@ERROR of RAISERROR, if it differs from the number of the statement's error
	inserting  bool  // inside INSERT ... EXEC
	inFunction bool  // inside a user-defined function, which must not send or change anything
}

// ctlKind tells how a statement ended.
type ctlKind uint8

const (
	ctlNext ctlKind = iota
	ctlBreak
	ctlContinue
	ctlReturn
	ctlGoto
)

// ctl tells how a statement ended. For a GOTO it has the target label.
type ctl struct {
	kind  ctlKind
	label string
}

// list runs statements in order.
func (r *run) list(stmts []syntax.Stmt) (ctl, error) {
	i := 0
	if r.gotoLabel != "" {
		i = findLabel(stmts, r.gotoLabel)
	}
	jumped := false
	var labels map[string]int // from the second GOTO on
	for i < len(stmts) {
		c, err := r.stmt(stmts[i])
		if err != nil {
			return c, err
		}
		switch c.kind {
		case ctlNext:
			i++
		case ctlGoto:
			j := -1
			switch {
			case !jumped:
				j = findLabel(stmts, c.label)
			case labels == nil:
				labels = map[string]int{}
				for k, st := range stmts {
					addLabels(labels, st, k)
				}
				fallthrough
			default:
				if k, ok := labels[catalog.Fold(c.label)]; ok {
					j = k
				}
			}
			if j < 0 {
				return c, nil
			}
			jumped = true
			i, r.gotoLabel = j, c.label
		default:
			return c, nil
		}
	}
	return ctl{}, nil
}

// findLabel returns the index of the statement that is or contains a label, or -1.
func findLabel(stmts []syntax.Stmt, label string) int {
	for i, st := range stmts {
		if holdsLabel(st, label) {
			return i
		}
	}
	return -1
}

// holdsLabel reports whether GOTO can reach a label inside st. GOTO cannot enter TRY and CATCH
// blocks.
func holdsLabel(st syntax.Stmt, label string) bool {
	switch st := st.(type) {
	case *syntax.LabelStmt:
		return catalog.EqualNames(st.Label, label)
	case *syntax.BlockStmt:
		return findLabel(st.Body, label) >= 0
	case *syntax.IfStmt:
		return holdsLabel(st.Then, label) || st.Else != nil && holdsLabel(st.Else, label)
	case *syntax.WhileStmt:
		return holdsLabel(st.Body, label)
	}
	return false
}

// addLabels adds the labels for which holdsLabel is true, by folded name, with the index i.
func addLabels(labels map[string]int, st syntax.Stmt, i int) {
	switch st := st.(type) {
	case *syntax.LabelStmt:
		labels[catalog.Fold(st.Label)] = i
	case *syntax.BlockStmt:
		for _, inner := range st.Body {
			addLabels(labels, inner, i)
		}
	case *syntax.IfStmt:
		addLabels(labels, st.Then, i)
		if st.Else != nil {
			addLabels(labels, st.Else, i)
		}
	case *syntax.WhileStmt:
		addLabels(labels, st.Body, i)
	}
}

// stmt runs one statement.
func (r *run) stmt(st syntax.Stmt) (ctl, error) {
	if err := r.s.Canceled(r.ctx); err != nil {
		return ctl{}, err
	}
	r.f.line = st.Pos().Line
	r.s.StatementTime = 0
	r.changes.Sequences.Forget()
	switch st := st.(type) {
	case *syntax.BlockStmt:
		return r.list(st.Body)
	case *syntax.IfStmt:
		return r.ifStmt(st)
	case *syntax.WhileStmt:
		return r.whileStmt(st)
	case *syntax.TryStmt:
		return handlers{r}.try(st)
	case *syntax.LabelStmt:
		if catalog.EqualNames(st.Label, r.gotoLabel) {
			r.gotoLabel = ""
		}
		return ctl{}, nil
	case *syntax.BreakStmt:
		return ctl{kind: ctlBreak}, r.endWithoutCount(answer.CommandOf(st))
	case *syntax.ContinueStmt:
		return ctl{kind: ctlContinue}, r.endWithoutCount(answer.CommandOf(st))
	case *syntax.GotoStmt:
		return ctl{kind: ctlGoto, label: st.Label}, nil
	case *syntax.ReturnStmt:
		err := r.returnStmt(st)
		switch {
		case err != nil:
		case st.Value != nil: // the return code is assigned like a variable (SQL Server 2025, recorded)
			err = r.endAssignment(1)
		default:
			err = r.endWithoutCount(answer.CommandOf(st))
		}
		return ctl{kind: ctlReturn}, r.settle(st, err)
	}
	if r.s.Options.NoExec || r.s.Options.ParseOnly {
		if _, ok := st.(*syntax.SetOptionStmt); !ok {
			return ctl{}, nil
		}
	}
	s := r.s
	snap, sets, ended := s.inst.Catalog.Snapshot(), r.out.ResultSets(), r.out.Statements()
	mark := s.Meter().Mark()
	defer s.Meter().Release(mark)
	err := transactions{r}.beginImplicitly(st)
	if err != nil {
		return ctl{}, err
	}
	isTimed, start := s.Options.StatisticsTime, time.Now()
	err = r.simpleStmt(st)
	if err != nil && r.definitionsChanged(err, snap, sets) {
		err = r.simpleStmt(st)
	}
	if err != nil && session.IsMissingObject(err) && s.SnapshotOutdated() {
		err = mserr.SnapshotOfOldDefinition(s.DatabaseByID(s.DatabaseID).Name)
	}
	if err == nil && r.out.Statements() == ended && !sendsNoDone(st) {
		err = r.endWithoutCount(answer.CommandOf(st))
	}
	if err == nil && isTimed && s.Options.StatisticsTime && !r.inFunction {
		err = r.info(executionTimes(time.Since(start)))
	}
	return ctl{}, r.settle(st, err)
}

// sendsNoDone reports whether no DONE follows a statement: a declaration (MS-TDS 2.2.7.6), CREATE
// and DROP SCHEMA (SQL Server 2025, recorded), or EXECUTE, which sends a DONEPROC itself.
func sendsNoDone(st syntax.Stmt) bool {
	switch st := st.(type) {
	case *syntax.DeclareStmt, *syntax.ExecStmt, *syntax.CreateSchemaStmt:
		return true
	case *syntax.DropStmt:
		return st.Kind == "SCHEMA"
	}
	return false
}

// assigned ends an assignment to a variable, and sets @@ROWCOUNT to the number of rows. With SET
// NOCOUNT ON no DONE is sent for it in procedures.
func (r *run) assigned(rows int64) error {
	r.s.RowCount = rows
	return r.endAssignment(rows)
}

// endAssignment is assigned without @@ROWCOUNT.
func (r *run) endAssignment(rows int64) error {
	if r.inFunction || r.s.Options.NoCount && r.nested() {
		return nil
	}
	return r.end(answer.Done{Rows: rows, Count: !r.s.Options.NoCount, Command: answer.CommandSelect})
}

// endWithoutCount ends a statement without rows and without a count, or the condition of IF and
// WHILE. With SET NOCOUNT ON no DONE is sent for it in procedures (documentation of SET NOCOUNT).
func (r *run) endWithoutCount(c answer.Command) error {
	if r.inFunction || r.s.Options.NoCount && r.nested() {
		return nil
	}
	return r.end(answer.Done{Command: c})
}

// definitionsChanged reports whether an error is the consequence of a change of definitions by
// another session between compilation and execution of a statement. The statement can then be
// repeated: it is outside a transaction and has sent nothing.
func (r *run) definitionsChanged(err error, snap *catalog.Snapshot, sets int) bool {
	return !r.s.Tran.Begun() && r.out.ResultSets() == sets && session.IsMissingObject(err) && r.s.inst.Catalog.Snapshot() != snap
}

// simpleStmt runs a statement that contains no other statement.
func (r *run) simpleStmt(st syntax.Stmt) error {
	if r.inFunction {
		if err := module.AllowedInFunction(st); err != nil {
			return err
		}
	}
	s := r.s
	switch st := st.(type) {
	case *syntax.SelectStmt:
		return queries{r}.selectStmt(st)
	case *syntax.InsertStmt, *syntax.UpdateStmt, *syntax.DeleteStmt, *syntax.MergeStmt:
		return rowChanges{r}.change(st)
	case *syntax.TruncateStmt:
		return r.definer().Truncate(st)
	case *syntax.DeclareStmt:
		return declarations{r}.declareStmt(st)
	case *syntax.SetVarStmt:
		return settings{r}.setVar(st)
	case *syntax.ExecStmt:
		return calls{r}.execStmt(st)
	case *syntax.PrintStmt:
		return handlers{r}.print(st)
	case *syntax.RaiserrorStmt:
		return handlers{r}.raiserror(st)
	case *syntax.ThrowStmt:
		return handlers{r}.throw(st)
	case *syntax.WaitForStmt:
		return r.waitFor(st)
	case *syntax.BeginTranStmt:
		return transactions{r}.beginTran(st)
	case *syntax.CommitStmt:
		return transactions{r}.commitTran(st)
	case *syntax.RollbackStmt:
		return transactions{r}.rollbackTran(st)
	case *syntax.SaveTranStmt:
		return transactions{r}.saveTran(st)
	case *syntax.DeclareCursorStmt:
		return cursors{r}.declareCursor(st)
	case *syntax.OpenStmt:
		return cursors{r}.openCursor(st)
	case *syntax.FetchStmt:
		return cursors{r}.fetch(st)
	case *syntax.CloseStmt:
		return cursors{r}.closeCursor(st)
	case *syntax.DeallocateStmt:
		return cursors{r}.deallocate(st)
	}
	s.RowCount = 0
	switch st := st.(type) {
	case *syntax.SetOptionStmt:
		return settings{r}.published(settings{r}.setOptions(st))
	case *syntax.SetValueStmt:
		return settings{r}.published(settings{r}.setValue(st))
	case *syntax.SetIsolationStmt:
		r.s.Options.Isolation = st.Level
		return settings{r}.published(nil)
	case *syntax.SetIdentityInsertStmt:
		return settings{r}.setIdentityInsert(st)
	case *syntax.SetStatisticsStmt:
		return settings{r}.setStatistics(st)
	case *syntax.UseStmt:
		return settings{r}.use(st.Database.Name)
	case *syntax.ExecuteAsStmt:
		return identities{r}.executeAs(st)
	case *syntax.RevertStmt:
		return identities{r}.revert(st)
	case *syntax.KillStmt:
		return r.kill(st)
	case *syntax.NoEffectStmt:
		return nil
	case *syntax.ReconfigureStmt:
		return systemCalls{r}.systemExecutor().Reconfigure()
	case *syntax.UnsupportedStmt:
		return mserr.NotSupported("%s", st.What)
	case *syntax.InsertBulkStmt:
		return rowChanges{r}.prepareBulk(st)
	}
	return r.define(st)
}

// settle decides the effect of an error of a statement. It returns nil if the next statement runs.
func (r *run) settle(st syntax.Stmt, err error) error {
	s := r.s
	if _, ok := st.(*syntax.ExecStmt); ok && err == nil {
		return nil // the statements of the module have set @@ERROR
	}
	r.settled++
	if err == nil {
		s.LastError, r.raised = r.raised, 0
		return nil
	}
	var f *failure.Error
	if !errors.As(err, &f) {
		e := r.message(err)
		if e == nil {
			return err
		}
		f = &failure.Error{Err: e, From: failure.AtRun}
	}
	if failure.NotSupported(f.Err) && !f.Settled {
		f.From = failure.AtCompile
	}
	if f.Settled {
		s.LastError = f.Err.Number
		return f
	}
	f.Settled, f.Frame = true, r.f
	r.f.worst = max(r.f.worst, f.Err.Class)
	if f.Err.Line == 0 && f.Err.Proc == "" {
		c := *f.Err // a cache of plans may share the error
		f.Err = &c
		c.Line, c.Proc = r.f.line, r.f.name
	}
	s.LastError, s.RowCount = f.Err.Number, 0
	if r.raised != 0 {
		s.LastError, r.raised = r.raised, 0
	}
	f.Reach = failure.Under(f.Err, f.From, s.Options.XactAbort, s.Options.AnsiWarnings)
	if f.Reach > failure.EndStatement && f.Reach < failure.EndTransaction && (triggers{r}).inTrigger() {
		f.Reach = failure.EndTransaction // an error that ends a trigger ends its statement, the batch and the transaction
	}
	catching := r.tries
	if f.From == failure.AtCompile {
		catching -= r.f.tries
	}
	if catching > 0 && f.Reach < failure.EndConnection {
		f.Pending = true
		if s.Tran.Open() && failure.Dooms(f.Err, f.From, s.Options.XactAbort) {
			s.Tran.Doom()
		}
		return errors.Join(f, r.endCaught(st, f))
	}
	if err := r.report(st, f); err != nil {
		return err
	}
	if f.Reach == failure.EndStatement {
		return nil
	}
	return f
}

// following returns the informational message that is sent after an error, such as 3621, or nil.
func (r *run) following(st syntax.Stmt, f *failure.Error) *mserr.Error {
	end := failure.Following(f.Err)
	switch {
	case f.From != failure.AtRun:
		return nil
	case f.Err.Number == 1505, f.Before != nil && f.Before.Number == 1505: // CREATE INDEX and ALTER TABLE
		return mserr.StatementTerminated()
	case triggers{r}.inTrigger(), changesData(st) && f.Reach <= failure.EndBatch:
		return end
	}
	return nil
}

// report sends an error that is not caught, and rolls back the transaction that it ends. The
// client is notified of the rollback between the error and the DONE of the statement, as by SQL
// Server: a victim of a deadlock "receives error token, followed by
// ENVCHANGE(TransactionRollback)" (issue 245 of tiberius). MS-TDS 2.2.7.9 prescribes no order.
func (r *run) report(st syntax.Stmt, f *failure.Error) error {
	if f.Before != nil {
		if err := r.info(f.Before); err != nil {
			return err
		}
	}
	if err := r.out.Message(f.Err); err != nil {
		return err
	}
	if end := r.following(st, f); end != nil {
		end.Line, end.Proc = f.Err.Line, f.Err.Proc
		if err := r.out.Message(end); err != nil {
			return err
		}
	}
	if f.Reach >= failure.EndTransaction && r.s.Tran.Open() {
		if err := r.s.rollback(r); err != nil {
			return err
		}
	}
	_, call := st.(*syntax.ExecStmt)
	switch {
	case f.Reach > failure.EndStatement && r.nested(), st == nil && f.Reach == failure.EndStatement:
		return nil // the DONE of the EXECUTE or batch around it has the error bit
	case call && f.Reach == failure.EndStatement:
		return calls{r}.endExec()
	}
	command := answer.CommandOf(st)
	if f.Reach > failure.EndStatement {
		command = answer.CommandBatch
	}
	if err := r.end(answer.Done{Error: true, Command: command}); err != nil {
		return err
	}
	if raise, ok := st.(*syntax.RaiserrorStmt); ok && raise.NoWait {
		return r.out.Flush()
	}
	return nil
}

// changesData reports whether message 3621 follows an error of a statement.
func changesData(st syntax.Stmt) bool {
	switch st.(type) {
	case *syntax.InsertStmt, *syntax.UpdateStmt, *syntax.DeleteStmt, *syntax.MergeStmt:
		return true
	}
	return false
}

// nested reports whether the current frame is a procedure, a function or dynamic SQL.
func (r *run) nested() bool {
	f := r.f
	for f.fired != nil {
		f = f.parent
	}
	return f.kind != batchFrame
}

// columns starts a result set.
func (r *run) columns(cols []types.Column) error {
	if r.inFunction {
		return mserr.SelectInFunction()
	}
	return r.out.Columns(cols)
}

// endCaught ends a statement whose error a TRY block catches: a result set that has started, a
// change of rows that has started, or RAISERROR and THROW (SQL Server 2025, recorded).
func (r *run) endCaught(st syntax.Stmt, f *failure.Error) error {
	switch st.(type) {
	case *syntax.RaiserrorStmt, *syntax.ThrowStmt:
		return r.endWithoutCount(answer.CommandOf(st))
	}
	if !r.out.IsOpen() {
		if changesData(st) && f.From == failure.AtRun && failure.Following(f.Err) != nil && !r.inFunction {
			return r.end(answer.Done{Count: !r.s.Options.NoCount, Command: answer.CommandOf(st)})
		}
		return nil
	}
	return r.end(answer.Done{Rows: r.out.Rows(), Count: !r.s.Options.NoCount, Command: answer.CommandSelect})
}

// done ends a statement that returned or affected n rows, and sets @@ROWCOUNT.
func (r *run) done(n int64, c answer.Command) error {
	r.s.RowCount = n
	if r.inFunction {
		r.out.Drop()
		return nil
	}
	return r.end(answer.Done{Rows: n, Count: !r.s.Options.NoCount, Command: c})
}

// end sends the end of a statement.
func (r *run) end(d answer.Done) error {
	d.InProc = r.nested()
	return r.out.End(d)
}

// info sends an informational message. It adds the line and procedure of the current statement.
func (r *run) info(m *mserr.Error) error {
	if m.Line == 0 {
		c := *m
		m = &c
		m.Line, m.Proc = r.f.line, r.f.name
	}
	return r.out.Message(m)
}
