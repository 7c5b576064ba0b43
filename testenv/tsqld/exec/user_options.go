package exec

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// isolationNames are the isolation levels as DBCC USEROPTIONS shows them.
var isolationNames = map[syntax.Isolation]string{
	syntax.ReadUncommitted: "read uncommitted",
	syntax.ReadCommitted:   "read committed",
	syntax.RepeatableRead:  "repeatable read",
	syntax.Serializable:    "serializable",
	syntax.Snapshot:        "snapshot",
}

// userOptions executes DBCC USEROPTIONS: it shows the options that are set, in the order of the
// documentation.
func (r queries) userOptions() error {
	o := &r.s.Options
	text := types.NVarCharOf(128)
	if err := r.columns([]types.Column{
		{Name: "Set Option", Type: text, Nullable: true}, {Name: "Value", Type: text, Nullable: true},
	}); err != nil {
		return err
	}
	rows := [][2]string{
		{"textsize", strconv.Itoa(o.TextSize)}, {"language", types.LanguageOf(o.Locale).Name},
		{"dateformat", o.Locale.Order.String()},
		{"datefirst", strconv.Itoa(o.DateFirst)}, {"lock_timeout", strconv.Itoa(o.LockTimeout)},
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"quoted_identifier", o.QuotedIdentifier}, {"arithabort", o.ArithAbort}, {"arithignore", o.ArithIgnore},
		{"nocount", o.NoCount}, {"xact_abort", o.XactAbort},
		{"implicit_transactions", o.ImplicitTransactions}, {"cursor_close_on_commit", o.CursorCloseOnCommit},
		{"ansi_null_dflt_on", o.AnsiNullDefaultOn},
		{"ansi_null_dflt_off", o.AnsiNullDefaultOff}, {"ansi_warnings", o.AnsiWarnings},
		{"ansi_padding", o.AnsiPadding}, {"ansi_nulls", o.AnsiNulls},
		{"concat_null_yields_null", o.ConcatNullYieldsNull},
	} {
		if f.on {
			rows = append(rows, [2]string{f.name, "SET"})
		}
	}
	level := isolationNames[o.Isolation]
	if d := r.s.DatabaseByID(r.s.DatabaseID); o.Isolation == syntax.ReadCommitted && d != nil &&
		d.Options.ReadCommittedSnapshot {
		level = "read committed snapshot"
	}
	rows = append(rows, [2]string{"isolation level", level})
	for _, row := range rows {
		if err := r.out.Row([]types.Value{row[0], row[1]}); err != nil {
			return err
		}
	}
	if err := r.done(int64(len(rows)), answer.CommandSelect); err != nil {
		return err
	}
	return r.info(mserr.New(2528, 0,
		"DBCC execution completed. If DBCC printed error messages, contact your system administrator."))
}
