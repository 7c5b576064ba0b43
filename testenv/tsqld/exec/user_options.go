package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// userOptions executes DBCC USEROPTIONS; quiet is set for NO_INFOMSGS.
func (r queries) userOptions(quiet bool) error {
	if err := r.columns([]types.Column{
		{Name: "Set Option", Type: types.SysName, Nullable: true}, {Name: "Value", Type: types.NVarCharOf(46), Nullable: true},
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
	if quiet {
		return nil
	}
	return r.info(mserr.CheckCompleted())
}
