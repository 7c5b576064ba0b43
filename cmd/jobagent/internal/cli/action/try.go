package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

func newTryCommand(a *connect.App) *cobra.Command {
	var kind, credential string
	var variables []string
	var params command.ParameterFlags
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "try FILE|-", Short: "Run an action once from this machine, and show what was sent and what came back", Args: cobra.ExactArgs(1),
		Long: `Run an action once from this machine, and show what was sent, with secrets masked, and what came back.

The configuration file applies as for an agent: its outbound rules, credentials, secrets and processes. No
control database is needed, so sealed secrets are not available. The action has the effect that a step
would have. The exit code is 7 unless the endpoint accepts the action.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := command.ReadFile(args[0], a.Stdin)
			if err != nil {
				return err
			}
			t, err := commandType(kind, string(text))
			if err != nil {
				return exit.Usagef("%s: %w", args[0], err)
			}
			definition, err := action.Decode(t, string(text))
			if err != nil {
				return exit.Usagef("%s: %w", args[0], err)
			}
			payload, err := params.Read(a.Stdin)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), limit, targets.ErrTimeout)
			defer cancel()
			trial, err := try(ctx, &a.Settings, definition, credential, variables, payload)
			if err != nil {
				return err
			}
			if err := a.Emit(trial, func(w io.Writer) error { return writeTrial(w, trial) }); err != nil {
				return err
			}
			if trial.Outcome != string(targets.Succeeded) && trial.Outcome != string(targets.Accepted) {
				return exit.With(exit.CodeRunFailed, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "`type` of the command: "+action.NamesOfActions()+" (default: by the members)")
	cmd.Flags().StringVar(&credential, "credential", "", "`name` of the credential of the configuration file, as @credential_name of a step")
	cmd.Flags().StringArrayVar(&variables, "var", nil,
		"`NAME=TEXT`: a variable of the run, such as job_name, database_name or callback_url; may be repeated")
	command.AddDuration(cmd.Flags(), &limit, "time-limit", 2*time.Minute, "time limit of the attempt")
	params.Add(cmd, "the run")
	return cmd
}

// try runs an action once. Its error is one of the command line or of the configuration.
func try(
	ctx context.Context, s *connect.Settings, definition *action.Definition, credential string, variables []string, payload string,
) (output.ActionTrial, error) {
	if definition.Type == action.TypeDrift {
		return output.ActionTrial{}, exit.Usagef("a comparison of schemas cannot be tried: jobagent drift check compares databases")
	}
	cfg, err := s.Config()
	if err != nil {
		return output.ActionTrial{}, err
	}
	tools, err := connect.NewTrial(cfg, buildinfo.Version())
	if err != nil {
		return output.ActionTrial{}, err
	}
	runner := tools.Runners[definition.Type]
	if runner == nil {
		return output.ActionTrial{}, exit.Usagef("the configuration file lists no processes: add one to processes")
	}
	given, err := parseVariables(variables)
	if err != nil {
		return output.ActionTrial{}, err
	}
	run, err := parameters.Parse(payload)
	if err != nil {
		return output.ActionTrial{}, exit.Usage(err)
	}
	now := time.Now().UTC()
	attempt := targets.ActionAttempt{
		Target:     targets.Target{Server: given[action.NameServerName], Database: given[action.NameDatabaseName]},
		Credential: credential, Key: uuid.New(), Number: 1, JobName: "try", JobExecutionID: uuid.New(), StepID: 1, StepName: "try",
		DueAt: now, CallbackURL: given[action.NameCallbackURL], Payload: run.Text(),
		Begin: func(context.Context) (time.Time, error) { return time.Now().Add(time.Hour), nil },
	}
	attempt.TraceParent = (*tracing.Recorder)(nil).TraceParent(attempt.JobExecutionID, attempt.Key, attempt.Number)
	values := map[string]string{
		action.NameJobName: attempt.JobName, action.NameJobID: uuid.NewString(), action.NameJobVersion: "1", action.NameStepID: "1",
		action.NameStepName: attempt.StepName, action.NameJobExecutionID: attempt.JobExecutionID.String(),
		action.NameRunID: attempt.JobExecutionID.String(), action.NameJobExecutionCreateTime: now.Format(time.RFC3339Nano),
		action.NameTargetGroupName: "", action.NameDueAt: now.Format(time.RFC3339Nano), action.NameAttempt: "1",
		action.NameIdempotencyKey: attempt.Key.String(), action.NameScheduleID: "",
		action.NameServerName: "", action.NameDatabaseName: "",
	}
	for name, text := range given {
		values[name] = text
	}
	attempt.Action, err = definition.Expand(func(name string) (action.Value, bool, error) {
		if text, ok := values[name]; ok {
			return action.Text(text), true, nil
		}
		if secret, ok := strings.CutPrefix(name, action.PrefixSecret); ok {
			value, err := tools.Secret(ctx, secret)
			if err != nil {
				return action.Value{}, false, fmt.Errorf("secret %q: %w", secret, err)
			}
			return value, true, nil
		}
		value, ok := action.Parameter(run, name)
		return value, ok, nil
	})
	if err != nil {
		if errors.Is(err, agent.ErrNoSecret) {
			return output.ActionTrial{}, exit.Usage(err)
		}
		return output.ActionTrial{}, exit.Usagef("nothing was sent: %w (--var and --param give values)", err)
	}
	if err := outbound.CheckSecrets(attempt.Action, attempt.Number); err != nil {
		return output.ActionTrial{}, exit.Usagef("nothing was sent: %w", err)
	}
	return newTrial(definition.Type, runner.Run(ctx, attempt)), nil
}

// parseVariables reads the flags --var.
func parseVariables(flags []string) (map[string]string, error) {
	given := map[string]string{}
	for _, flag := range flags {
		name, text, ok := strings.Cut(flag, "=")
		if name = strings.ToLower(name); !ok || name == "" {
			return nil, exit.Usagef("invalid --var %q: want NAME=TEXT", flag)
		}
		if strings.HasPrefix(name, action.PrefixSecret) {
			return nil, exit.Usagef("invalid --var %s=…: other users of this machine can read the command line; name a reference in secrets of the configuration file", name)
		}
		if _, twice := given[name]; twice {
			return nil, exit.Usagef("invalid --var %q: the variable is given twice", flag)
		}
		given[name] = text
	}
	return given, nil
}

// newTrial returns the view of a result.
func newTrial(t action.Type, res targets.Result) output.ActionTrial {
	trial := output.ActionTrial{
		Type: t, Outcome: string(res.Outcome), Summary: res.Summary, Sent: res.Sent, NoRetry: res.NoRetry,
		RetryAfterMS: res.RetryAfter.Milliseconds(), ElapsedMS: res.Elapsed.Milliseconds(), Messages: []output.TrialMessage{},
	}
	for _, m := range res.Messages {
		trial.Messages = append(trial.Messages, output.TrialMessage{Kind: string(m.Kind), Number: m.Number, Text: m.Text})
	}
	return trial
}

// writeTrial prints a result for people.
func writeTrial(w io.Writer, trial output.ActionTrial) error {
	for _, m := range trial.Messages {
		if _, err := fmt.Fprintf(w, "%s:\n%s\n", m.Kind, output.Indent(m.Text, "  ")); err != nil {
			return err
		}
	}
	sent := "nothing was sent"
	if trial.Sent {
		sent = "the request was sent"
		if trial.Type == action.TypeProcess {
			sent = "the process was started"
		}
	}
	_, err := fmt.Fprintf(w, "%s in %d ms; %s.\n", trial.Outcome, trial.ElapsedMS, sent)
	if err == nil && trial.Summary != "" {
		_, err = fmt.Fprintln(w, trial.Summary)
	}
	return err
}
