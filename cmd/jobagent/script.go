package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// newScriptCommand makes `jobagent script`.
func newScriptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "script JOB", Short: "Print the T-SQL that recreates a job with its target groups",
		Long: "Print the T-SQL that recreates a job with its target groups, for a repository or another control database. The script\ncalls the public procedures only, and runs on Azure Elastic Jobs as well.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				text, err := scriptJob(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				return a.done(map[string]string{"job_name": args[0], "script": text}, "%s", strings.TrimRight(text, "\n"))
			})
		},
	}
}

// scriptJob writes the T-SQL that recreates a job. Target groups that exist where it runs are left as they are.
func scriptJob(ctx context.Context, store *controldb.Store, name string) (string, error) {
	job, err := findJob(ctx, store, name)
	if err != nil {
		return "", err
	}
	steps, err := store.JobSteps(ctx, job.Name, nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var groups []string
	for _, s := range steps {
		if slices.Contains(groups, s.TargetGroup) {
			continue
		}
		groups = append(groups, s.TargetGroup)
		list, err := store.TargetGroupMembers(ctx, s.TargetGroup)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "IF NOT EXISTS (SELECT 1 FROM jobs.target_groups WHERE target_group_name = %s)\nBEGIN\n", quoteSQL(s.TargetGroup))
		fmt.Fprintf(&b, "    EXEC jobs.sp_add_target_group @target_group_name = %s;\n", quoteSQL(s.TargetGroup))
		for _, m := range list {
			call := newProcCall("jobs.sp_add_target_group_member").text("target_group_name", s.TargetGroup)
			if m.Membership == targets.Exclude {
				call.text("membership_type", string(m.Membership))
			}
			call.text("target_type", string(m.Kind)).optional("refresh_credential_name", m.RefreshCredential).optional("server_name", m.Server).
				optional("database_name", m.Database).optional("elastic_pool_name", m.ElasticPool).optional("shard_map_name", m.ShardMap)
			b.WriteString(indent(call.String(), "    ") + "\n")
		}
		b.WriteString("END;\nGO\n\n")
	}
	call := newProcCall("jobs.sp_add_job").text("job_name", job.Name).optional("description", job.Description)
	call.text("schedule_interval_type", job.IntervalType).number("schedule_interval_count", job.IntervalCount)
	if job.Start.Year() > 1 {
		call.text("schedule_start_time", job.Start.UTC().Format("2006-01-02 15:04:05.0000000"))
	}
	if job.End.Year() < 9999 {
		call.text("schedule_end_time", job.End.UTC().Format("2006-01-02 15:04:05.0000000"))
	}
	b.WriteString(call.String() + "\nGO\n")
	for _, s := range steps {
		call := newProcCall("jobs.sp_add_jobstep").text("job_name", job.Name).text("step_name", s.StepName)
		declaration := ""
		if pieces := clientProof(s.Command); len(pieces) == 1 {
			call.text("command", s.Command)
		} else {
			// The empty MAX value makes the whole sum one of that type: others end at 4000 characters.
			declaration = "DECLARE @command NVARCHAR(MAX) = CAST(N'' AS NVARCHAR(MAX))"
			for _, piece := range pieces {
				declaration += "\n    + " + quoteSQL(piece)
			}
			declaration += ";\n"
			call.add("command", "@command")
		}
		call.
			optional("credential_name", s.Credential).text("target_group_name", s.TargetGroup).
			number("initial_retry_interval_seconds", s.InitialRetryInterval).number("maximum_retry_interval_seconds", s.MaximumRetryInterval)
		call.add("retry_interval_backoff_multiplier", strconv.FormatFloat(s.RetryIntervalMultiplier, 'g', -1, 32))
		call.number("retry_attempts", s.RetryAttempts).number("step_timeout_seconds", s.Timeout).
			optional("output_type", s.OutputType).optional("output_credential_name", s.Output.Credential).
			optional("output_server_name", s.Output.Server).optional("output_database_name", s.Output.Database).
			optional("output_schema_name", s.Output.Schema).optional("output_table_name", s.Output.Table)
		if s.MaxParallelism != nil {
			call.number("max_parallelism", *s.MaxParallelism)
		}
		b.WriteString("\n" + declaration + call.String() + "\nGO\n")
	}
	if job.Enabled { // last: a run that is due at once finds all steps
		b.WriteString("\n" + newProcCall("jobs.sp_update_job").text("job_name", job.Name).number("enabled", 1).String() + "\nGO\n")
	}
	return b.String(), nil
}

// clientActs matches what clients act upon before the server sees a script: sqlcmd replaces $(name), even in a string, and some clients
// divide batches at a line with GO that is in one. The groups end where the text must be cut to prevent it.
var clientActs = regexp.MustCompile(`(?im)^([ \t]*g)o\b|(\$)\(`)

// clientProof cuts a text so that no piece, written as a literal, holds anything that a client acts upon. There is one piece at least.
func clientProof(text string) []string {
	var pieces []string
	from := 0
	for _, m := range clientActs.FindAllStringSubmatchIndex(text, -1) {
		cut := max(m[3], m[5]) // the end of the group that matched; the other's is -1
		pieces, from = append(pieces, text[from:cut]), cut
	}
	return append(pieces, text[from:])
}

// procCall writes a call of a procedure with named parameters, one a line.
type procCall struct {
	name string
	args []string
}

func newProcCall(name string) *procCall { return &procCall{name: name} }

// add appends a parameter with a value that is T-SQL already.
func (c *procCall) add(name, value string) *procCall {
	c.args = append(c.args, "    @"+name+" = "+value)
	return c
}

// text appends a string.
func (c *procCall) text(name, value string) *procCall { return c.add(name, quoteSQL(value)) }

// optional appends a string unless it is empty.
func (c *procCall) optional(name, value string) *procCall {
	if value == "" {
		return c
	}
	return c.text(name, value)
}

// number appends an integer.
func (c *procCall) number(name string, n int) *procCall { return c.add(name, strconv.Itoa(n)) }

// String is the call.
func (c *procCall) String() string {
	return "EXEC " + c.name + "\n" + strings.Join(c.args, ",\n") + ";"
}
