package exec

import (
	"strconv"

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
func (r *run) userOptions() error {
	o := &r.s.opts
	text := types.NVarCharOf(128)
	if err := r.columns([]types.Column{
		{Name: "Set Option", Type: text, Nullable: true}, {Name: "Value", Type: text, Nullable: true},
	}); err != nil {
		return err
	}
	rows := [][2]string{
		{"textsize", strconv.Itoa(o.textSize)}, {"language", types.LanguageOf(o.locale).Name},
		{"dateformat", o.locale.Order.String()},
		{"datefirst", strconv.Itoa(o.dateFirst)}, {"lock_timeout", strconv.Itoa(o.lockTimeout)},
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"quoted_identifier", o.quotedIdentifier}, {"arithabort", o.arithAbort}, {"arithignore", o.arithIgnore},
		{"nocount", o.noCount}, {"xact_abort", o.xactAbort},
		{"implicit_transactions", o.implicitTransactions}, {"cursor_close_on_commit", o.cursorCloseOnCommit},
		{"ansi_null_dflt_on", o.ansiNullDefaultOn},
		{"ansi_null_dflt_off", o.ansiNullDefaultOff}, {"ansi_warnings", o.ansiWarnings},
		{"ansi_padding", o.ansiPadding}, {"ansi_nulls", o.ansiNulls},
		{"concat_null_yields_null", o.concatNullYieldsNull},
	} {
		if f.on {
			rows = append(rows, [2]string{f.name, "SET"})
		}
	}
	level := isolationNames[o.isolation]
	if d := r.s.databaseByID(r.s.dbID); o.isolation == syntax.ReadCommitted && d != nil &&
		d.Options.ReadCommittedSnapshot {
		level = "read committed snapshot"
	}
	rows = append(rows, [2]string{"isolation level", level})
	for _, row := range rows {
		if err := sinkFailure(r.out.Row([]types.Value{row[0], row[1]})); err != nil {
			return err
		}
	}
	if err := r.done(int64(len(rows)), CommandSelect); err != nil {
		return err
	}
	return r.info(mserr.New(2528, 0,
		"DBCC execution completed. If DBCC printed error messages, contact your system administrator."))
}
