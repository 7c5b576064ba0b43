package schema

import (
	"context"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// Fill reads the schemas of databases into a fleet, and returns the databases that failed.
func Fill(ctx context.Context, servers *mssql.Servers, list []targets.Target, how question.Options, o Options, fleet *drift.Fleet) []question.Failure {
	return question.Each(ctx, servers, list, how, func(ctx context.Context, one *question.One) error {
		entry := fleet.Begin()
		if err := Read(ctx, one.Session, o, entry.Add); err != nil {
			return err
		}
		entry.End(one.Target.String())
		return nil
	})
}
