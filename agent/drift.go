package agent

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/schema"
)

// drift carries out an attempt that compares schemas: it reads the schema of the target, and the
// control database decides whether the schema is the expected one.
func (h *taskHost) drift(ctx context.Context, task controldb.Task, text string) report {
	started := time.Now()
	definition, err := h.caches.definition(ctx, task.CommandID, task.CommandType, text)
	if err != nil {
		return h.invalid(task, started, err)
	}
	what := definition.Drift
	c := comparison{host: h, task: task}
	if c.options, err = what.Selection.Options(targets.MatchName); err != nil {
		return h.invalid(task, started, err)
	}
	c.recorded = drifts.ReadSchema{
		Task: task.ID, Attempt: task.Attempt, Claim: task.Claim, Options: what.Selection.String(), AgainstName: what.Against,
	}
	server, database, isDatabase := what.Database()
	switch {
	case what.Against == action.AgainstNone:
		c.recorded.Against = drifts.AgainstNone
	case what.Against == action.AgainstMajority:
		c.recorded.Against = drifts.AgainstMajority
	case isDatabase:
		if err := targets.CheckServer(server); err != nil {
			return h.invalid(task, started, fmt.Errorf("against %q: %w", what.Against, err))
		}
		c.reference = targets.NewTarget(server, database, "")
		c.recorded.Against, c.recorded.AgainstTarget = drifts.AgainstDatabase, c.reference.ID
	default:
		c.recorded.Against = drifts.AgainstBaseline
	}
	return c.run(ctx)
}

// comparison is an attempt that compares schemas.
type comparison struct {
	host    *taskHost
	task    controldb.Task
	options drift.Options
	// recorded holds the values that are recorded with each schema.
	recorded drifts.ReadSchema
	// reference is the database with which the target is compared; zero if the reference is not a
	// database.
	reference targets.Target
}

// run makes the attempt.
func (c *comparison) run(ctx context.Context) report {
	h, target := c.host, c.task.Target
	res, found := c.read(ctx, target)
	if res.Outcome != targets.Succeeded {
		r := h.result(c.task, res)
		r.outcome.Unreached = res.Outcome == targets.Failed && unreachedTarget(res)
		return r
	}
	verdict, message, err := c.record(ctx, target, found)
	if verdict == drifts.DriftNeedsReference {
		of, reference := c.read(ctx, c.reference)
		if of.Outcome != targets.Succeeded {
			of.Summary = fmt.Sprintf("The database with which this one is compared, %s, could not be read: %s", c.reference, of.Summary)
			return h.result(c.task, of)
		}
		if verdict, message, err = c.record(ctx, c.reference, reference); err == nil && verdict != drifts.DriftRefused {
			verdict, message, err = c.record(ctx, target, found)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return h.unsent(ctx, c.task)
		}
		h.log.Warn("could not record a schema, returning the task", append(taskFields(c.task), zap.Error(err))...)
		return h.retreat(ctx, c.task, "the agent could not record the schema in the control database")
	}
	switch verdict {
	case drifts.DriftAlike, drifts.DriftRecorded:
		res.Summary = message
	case drifts.DriftDiffers, drifts.DriftMissing:
		// Another attempt would find the same schema.
		res.Outcome, res.Summary, res.NoRetry = targets.Failed, message, true
		res.Error = targets.ErrorDetail{Text: message, Class: targets.ClassPermanent}
		if verdict == drifts.DriftMissing {
			res.Error.Class = targets.ClassConfig
		}
	case drifts.DriftRefused:
		return notSent(c.task, message)
	default:
		return h.retreat(ctx, c.task, fmt.Sprintf("the control database answered with %q to the schema", verdict))
	}
	return h.result(c.task, res)
}

// read reads the schema of a database.
func (c *comparison) read(ctx context.Context, target targets.Target) (targets.Result, *drift.Print) {
	found := drift.NewPrint(c.options)
	res := c.host.runner.Read(ctx, targets.Attempt{Target: target, Credential: c.task.CredentialName, Session: sessionText(c.task)},
		func(ctx context.Context, s *mssql.Session) error {
			return schema.Read(ctx, s, schema.Options{Permissions: c.options.Permissions}, found.Add)
		})
	found.End()
	return res, found
}

// record records the schema of a database. The parts of the schema are sent only if the control
// database asks for them.
func (c *comparison) record(ctx context.Context, target targets.Target, found *drift.Print) (drifts.Verdict, string, error) {
	r := c.recorded
	r.Target, r.Fingerprint, r.Objects = target, found.Fingerprint(), found.Objects()
	verdict, message, err := drifts.On(c.host.store).Record(ctx, c.host.termID, r)
	if err != nil || verdict != drifts.DriftNeedsParts {
		return verdict, message, err
	}
	if r.Parts, err = found.Parts(); err != nil {
		return "", "", err
	}
	return drifts.On(c.host.store).Record(ctx, c.host.termID, r)
}
