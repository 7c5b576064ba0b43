package elastic

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/message"
	"github.com/jobagent/jobagent/jobs/wording"
)

// The codes of the surface.
const (
	codeNotFound    rest.Code = "ResourceNotFound"
	codeInvalidBody rest.Code = "InvalidResourceRequestBody"
	codeInvalidID   rest.Code = "InvalidResourceId"
	codeDuration    rest.Code = "InvalidDuration"
	codeUsername    rest.Code = "InvalidJobCredentialUsername"
	codeCredential  rest.Code = "JobCredentialPermissionError"
	codeRefused     rest.Code = "ElasticJobsOperationFailed" // the control database refuses it
	codeUnavailable rest.Code = "ElasticJobAgentOperationUnavailable"
	codePrecond     rest.Code = "PreconditionFailed"
)

// Numbers of errors of the control database that have a code of their own.
const (
	numDenied          = 229   // of SQL Server: EXECUTE permission was denied
	numMissingPassword = 50081 // a credential lacks its password
)

// Failure implements rest.Surface.
func (s *Surface) Failure(_ *rest.Request, err error) *rest.Response {
	return rest.ARMFailure(translate(err))
}

// translate turns errors of the control database, and codes of the server, into those of the API.
// Errors that the client is not told stay as they are.
func translate(err error) error {
	var known *rest.Error
	if errors.As(err, &known) {
		if known.Code == rest.CodeInvalidBody {
			changed := *known
			changed.Code = codeInvalidBody
			return &changed
		}
		return err
	}
	number, text := dberror.NumberOf(err), dberror.MessageIn(err, inProperties)
	switch {
	case errors.Is(err, dberror.ErrRevision):
		return refusal(http.StatusPreconditionFailed, codePrecond, number, text)
	case errors.Is(err, dberror.ErrSecretKeysChanged):
		if text == "" {
			text = "The control database has no active key for passwords. Make one with jobagent key generate."
		}
		return refusal(http.StatusConflict, codeUnavailable, number, text)
	case errors.Is(err, dberror.ErrSecretChanged), errors.Is(err, dberror.ErrAgentUnavailable), errors.Is(err, dberror.ErrPaused):
		return refusal(http.StatusConflict, codeUnavailable, number, text)
	case number == numMissingPassword:
		return refusal(http.StatusBadRequest, codeInvalidBody, number, text)
	case number == numDenied:
		return &rest.Error{
			Status: http.StatusForbidden, Code: rest.CodeForbidden,
			Message: "The control database does not permit this to the caller's role.",
		}
	case dberror.KindOf(err) != dberror.KindNone:
		return refusal(http.StatusBadRequest, codeRefused, number, text)
	}
	return err
}

// properties are the properties of bodies that give parameters of procedures their values.
var properties = map[string]string{
	"description": "description", "schedule_interval_type": "schedule.interval", "schedule_interval_count": "schedule.interval",
	"schedule_start_time": "schedule.startTime", "schedule_end_time": "schedule.endTime",
	"step_id": "stepId", "target_group_name": "targetGroup", "credential_name": "credential",
	"command_type": "action.type", "command_source": "action.source", "command": "action.value",
	"output_type": "output.type", "output_subscription_id": "output.subscriptionId", "output_resource_group_name": "output.resourceGroupName",
	"output_server_name": "output.serverName", "output_database_name": "output.databaseName", "output_schema_name": "output.schemaName",
	"output_table_name": "output.tableName", "output_credential_name": "output.credential",
	"step_timeout_seconds": "executionOptions.timeoutSeconds", "retry_attempts": "executionOptions.retryAttempts",
	"initial_retry_interval_seconds":    "executionOptions.initialRetryIntervalSeconds",
	"maximum_retry_interval_seconds":    "executionOptions.maximumRetryIntervalSeconds",
	"retry_interval_backoff_multiplier": "executionOptions.retryIntervalBackoffMultiplier",
	"membership_type":                   "membershipType", "target_type": "type", "server_name": "serverName", "database_name": "databaseName",
	"elastic_pool_name": "elasticPoolName", "shard_map_name": "shardMapName", "tag_filter": "tagFilter", "query": "query", "member_group_name": "targetGroupName", "refresh_credential_name": "refreshCredential",
	"username": "username", "target_server_resource_id": "targetServerAzureResourceId", "parameters": "parameters", "only_targets": "targets",
	"upstream_jobs": "upstreamJobNames", "run_when": "runWhen",
}

// inProperties words a part of what a procedure has said.
func inProperties(p message.Part) string {
	if name, ok := properties[p.Name]; ok && p.Kind == message.Parameter && p.Of == "" {
		return name
	}
	return p.Plain()
}

// refusal returns the error about what the control database refuses. Its number is in the details.
func refusal(status int, code rest.Code, number int32, message string) error {
	e := &rest.Error{Status: status, Code: code, Message: message}
	if number != 0 {
		e.Details = []rest.Detail{{Code: strconv.Itoa(int(number)), Message: message}}
	}
	return e
}

// notFound returns the error about a resource that does not exist.
func notFound(kind, name string) error {
	return &rest.Error{
		Status: http.StatusNotFound, Code: codeNotFound,
		Message: fmt.Sprintf("The requested resource of type '%s' with name '%s' was not found.", kind, name),
	}
}

// orNotFound replaces an error that wraps missing by the one about a resource that does not exist.
func orNotFound(err, missing error, kind, name string) error {
	if errors.Is(err, missing) {
		return notFound(kind, name)
	}
	return err
}

// faults collects what is wrong with a body, beside its form.
type faults struct{ list []rest.Detail }

// add adds a fault at a JSON path.
func (f *faults) add(path, format string, args ...any) {
	f.list = append(f.list, rest.Detail{Code: body.CodeValue, Target: path, Message: fmt.Sprintf(format, args...)})
}

// short adds a fault if a text is longer than the control database takes, which would cut it off.
func (f *faults) short(path, text string, limit int) {
	if n := wording.Length(text, wording.UTF16); n > limit {
		f.add(path, "The text has %d characters: want at most %d.", n, limit)
	}
}

// err returns the faults as one error; nil means none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return body.NewError(f.list)
}

// badRequest returns a 400 with a code of the API.
func badRequest(code rest.Code, target, format string, args ...any) error {
	return &rest.Error{Status: http.StatusBadRequest, Code: code, Target: target, Message: fmt.Sprintf(format, args...)}
}
