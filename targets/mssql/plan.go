package mssql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/golang-sql/sqlexp"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// planColumn is the name of the only column of a plan.
const planColumn = "Microsoft SQL Server 2005 XML Showplan"

// planBegin saves the settings that reading a plan may change. The batch does not run, but
// "temporary tables are created when using the SHOWPLAN SET options, and USE db_name statements are
// executed"
// (https://learn.microsoft.com/previous-versions/sql/sql-server-2008-r2/ms180765(v=sql.105)), and
// an error must not end the transaction.
const planBegin = "DECLARE @jobagent_options INT = @@OPTIONS; SET XACT_ABORT OFF; SAVE TRANSACTION jobagent_plan; " +
	"SELECT @jobagent_options AS options, DB_NAME() AS name, QUOTENAME(DB_NAME()) AS quoted;"

// planEnd undoes the creation of temporary tables.
const planEnd = "IF XACT_STATE() = 1 ROLLBACK TRANSACTION jobagent_plan; SELECT DB_NAME() AS name, XACT_STATE() AS state;"

// The bits of @@OPTIONS
// (https://learn.microsoft.com/sql/database-engine/configure-windows/configure-the-user-options-server-configuration-option).
const (
	optionQuotedIdentifier = 256
	optionXactAbort        = 16384
)

// maxPlan bounds the documents of one batch together, in bytes.
const maxPlan = 32 << 20

// maxPlanXML bounds the document of a batch in a report, which is one message, compressed and as
// base64.
const maxPlanXML = 64 << 10

// errLongPlan means that the documents of a batch are too long to keep.
var errLongPlan = fmt.Errorf("the documents have more than %d MB", maxPlan>>20)

// errNoPlan means that the answer of the server is not a plan, so that the server may have run the
// batch.
var errNoPlan = errors.New("the server does not answer SET SHOWPLAN_XML ON with plans")

// plan adds the estimated plan of a batch to its report. The batch does not run. A missing plan is
// not an error; a failure that may have changed the session is.
func (t *attempt) plan(ctx context.Context, s *session, b judged, begun int64, report *targets.TrialBatch) error {
	unread := func(reason string) { report.Unread = append(report.Unread, "plan: "+reason) }
	switch {
	case t.Options.BindParameters && len(bound(b.Text, t.Parameters)) > 0:
		unread("the batch has bound parameters: it is sent through sp_executesql, of which a server shows no plan")
		return nil
	case strings.Contains(strings.ToUpper(b.Text), "SHOWPLAN"):
		unread("the batch has SHOWPLAN in its text")
		return nil
	}
	var before [3]driver.Value
	if err := t.inTrial(ctx, s, func() error { return s.row(ctx, planBegin, before[:]) }); err != nil {
		return fmt.Errorf("before the plan of a batch is read: %w", err)
	}
	var documents []string
	refused := t.inTrial(ctx, s, func() (err error) {
		documents, err = s.showPlan(ctx, " "+b.Text)
		return err
	})
	if refused != nil && !aboutPlan(refused) {
		return fmt.Errorf("read the plan of a batch: %w", refused)
	}
	if err := t.inTrial(ctx, s, func() error { return s.restore(ctx, before) }); err != nil {
		return fmt.Errorf("after the plan of a batch is read: %w", err)
	}
	open, id, err := t.trialState(ctx, s)
	switch {
	case err != nil:
		return err
	case open != 1 || id != begun:
		return &TrialError{fmt.Sprintf("Batch %d, line %d: the transaction of the trial ended when the plan was read. Try it without plans.", report.Batch, report.Line)}
	case refused != nil:
		unread(describe(refused).String())
		return nil
	}
	if len(documents) == 0 {
		unread("the server has none for this batch")
		return nil
	}
	report.Plan = &targets.TrialPlan{}
	for _, text := range documents {
		if err := report.Plan.Add(text); err != nil {
			unread("a document of the server cannot be read: " + err.Error())
		}
	}
	if t.Trial.PlanXML {
		t.keepPlan(report, documents)
	}
	return nil
}

// aboutPlan reports whether the answer that led to err is complete, so that the session can be
// used.
func aboutPlan(err error) bool {
	_, isServers := asServerError(err)
	return isServers || errors.Is(err, errNoPlan) || errors.Is(err, errLongPlan) || errors.Is(err, errUnexplained)
}

// keepPlan adds the documents to the report, compressed, if they are small enough. Those of an
// attempt together use at most half of the limit of messages.
func (t *attempt) keepPlan(report *targets.TrialBatch, documents []string) {
	for _, text := range documents {
		packed, err := targets.PackPlan(text)
		switch size := report.Plan.Size() + len(packed); {
		case err != nil:
			report.Unread = append(report.Unread, "plan: "+err.Error())
		case size > maxPlanXML, t.planned+len(packed) > t.messages.limits.MessageBytes/2:
			report.Unread = append(report.Unread, fmt.Sprintf("plan: its document has %d bytes, %d when it is compressed, which is too much for a report", len(text), len(packed)))
		default:
			t.planned += len(packed)
			report.Plan.XML = append(report.Plan.XML, packed)
		}
	}
}

// showPlan asks for the documents of a batch. If it returns nil or an error of the server, the
// session no longer shows plans; after another error, the session must not be used.
func (s *session) showPlan(ctx context.Context, text string) ([]string, error) {
	if err := s.exec(ctx, "SET SHOWPLAN_XML ON"); err != nil {
		return nil, err
	}
	// A server that ignored the option would run the batch.
	_, err := s.documents(ctx, "SELECT 1")
	var documents []string
	if err == nil {
		documents, err = s.documents(ctx, text)
	}
	if err != nil && !aboutPlan(err) {
		return nil, err
	}
	if off := s.exec(ctx, "SET SHOWPLAN_XML OFF"); off != nil {
		return nil, fmt.Errorf("end the mode in which the server shows plans: %v", off) //nolint:errorlint // not an error of the batch, as classes of errors would imply
	}
	return documents, err
}

// restore restores the settings that planBegin has returned. An answer with the columns of its
// query proves that the session executes batches.
func (s *session) restore(ctx context.Context, before [3]driver.Value) error {
	var now [2]driver.Value
	if err := s.row(ctx, planEnd, now[:]); err != nil {
		return err
	}
	if state, _ := now[1].(int64); state == -1 {
		return errors.New("the transaction of the trial can only be rolled back")
	}
	if now[0] != before[1] {
		if err := s.exec(ctx, fmt.Sprintf("USE %v;", before[2])); err != nil {
			return err
		}
	}
	options, _ := before[0].(int64)
	return s.exec(ctx, "SET QUOTED_IDENTIFIER "+onOff(options&optionQuotedIdentifier != 0)+"; SET XACT_ABORT "+onOff(options&optionXactAbort != 0)+";")
}

// onOff returns ON or OFF.
func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}

// documents sends a batch while the server shows plans, and returns the plans. An error of severity
// 11 or more is the server's. errNoPlan means that a result set is not a plan. After another error
// the answer is not complete.
func (s *session) documents(ctx context.Context, text string) (list []string, err error) {
	s.wire.setRows(tdsguard.KeptRows)
	var queue sqlexp.ReturnMessage
	answer, err := s.query(ctx, text, &queue)
	if err != nil {
		return nil, err
	}
	said := &collector{limits: targets.Limits{Messages: 1, MessageBytes: 1, TextBytes: 1}}
	p := startPump(&queue, said, 1)
	other, long, size := false, false, 0
	err = eachSet(ctx, answer, s.wire, false, func(set *resultSet) error {
		other = other || len(set.columns) != 1 || set.columns[0].name != planColumn
		for set.next() {
			text, ok := set.row[0].(string)
			size += len(text)
			if long = long || size > maxPlan; ok && !other && !long {
				list = append(list, text)
			}
		}
		return nil
	})
	for err == nil {
		err = answer.Next(nil)
	}
	s.finish(answer)
	p.stop()
	_, broken := s.wire.state()
	switch {
	case broken == nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, io.EOF) || broken != nil || p.err != nil:
		return nil, cmp.Or(broken, p.err, err)
	case other:
		return nil, errNoPlan
	case long:
		return nil, errLongPlan
	}
	return list, cmp.Or(said.failure(), s.wire.unexplained())
}
