package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// userOptions executes DBCC USEROPTIONS.
func (r queries) userOptions() error {
	text := types.NVarCharOf(128)
	if err := r.columns([]types.Column{
		{Name: "Set Option", Type: text, Nullable: true}, {Name: "Value", Type: text, Nullable: true},
	}); err != nil {
		return err
	}
	d := r.s.DatabaseByID(r.s.DatabaseID)
	rows := r.s.Options.Listed(d != nil && d.Options.ReadCommittedSnapshot)
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
