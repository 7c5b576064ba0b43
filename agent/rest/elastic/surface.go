package elastic

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
)

// Config configures a Surface.
type Config struct {
	Directory *rest.Directory
	// Identities are the identities that job agents may have, by resource id.
	Identities map[string]Identity
	// HasCredential reports whether the configuration has a credential of this name, which agents
	// then prefer to a stored one; nil: it has none.
	HasCredential func(name string) bool
	// PageSize is the number of elements of a page of a list; 0 means 100.
	PageSize int
	// PollAfter is how long clients wait before they ask again about an active run; 0 means
	// 5 s.
	PollAfter time.Duration
	// OperationPollAfter is the same for operations on job agents; 0 means 15 s.
	OperationPollAfter time.Duration
	Settings
	Log *zap.Logger
}

// Settings are the part of the configuration that the configuration file has.
type Settings struct {
	// StartStatus is the status of the answer to POST start: 200, as the live service answers
	// (default), or 202, as the published specification has it too. Some clients wait for the end
	// of the run after 202 only.
	StartStatus int `json:"start_status"`
}

// Check returns the faults of the settings.
func (s Settings) Check() error {
	if s.StartStatus != 0 && s.StartStatus != http.StatusOK && s.StartStatus != http.StatusAccepted {
		return fmt.Errorf("invalid elastic.start_status %d: want 200 or 202", s.StartStatus)
	}
	return nil
}

// Surface is the surface. It is safe for concurrent use.
type Surface struct {
	cfg        Config
	agents     *agents
	operations []rest.Operation
}

// New returns the surface.
func New(cfg Config) *Surface {
	if cfg.HasCredential == nil {
		cfg.HasCredential = func(string) bool { return false }
	}
	if cfg.PageSize <= 0 {
		cfg.PageSize = 100
	}
	if cfg.PollAfter <= 0 {
		cfg.PollAfter = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	s := &Surface{cfg: cfg, agents: newAgents(cfg.Directory, cfg.Identities, cfg.Log)}
	if cfg.OperationPollAfter > 0 {
		s.agents.pollAfter = cfg.OperationPollAfter
	}
	s.operations = slices.Concat(
		s.agents.operations(), s.credentialOperations(), s.groupOperations(), s.jobOperations(), s.stepOperations(),
		s.executionOperations(), s.stepExecutionOperations(), s.rolloutOperations(), s.holdOperations(), s.triggerOperations(),
		s.driftOperations(), s.questionOperations(), s.endpointOperations(),
	)
	return s
}

// Name implements rest.Surface.
func (s *Surface) Name() string { return "sql" }

// Operations implements rest.Surface.
func (s *Surface) Operations() []rest.Operation { return s.operations }

// versions is the form of the versions from 2021 to 2026.
var versions = regexp.MustCompile(`^202[1-6]-[01][0-9]-[0-3][0-9](-preview)?$`)

// Check implements rest.Surface: it checks api-version. All versions have the same behaviour.
func (s *Surface) Check(r *rest.Request) error {
	version, ok := r.Query.Get("api-version")
	switch {
	case !ok || version == "":
		return &rest.Error{
			Status: http.StatusBadRequest, Code: "MissingApiVersionParameter", Target: "api-version",
			Message: "The api-version query parameter (?api-version=) is required for all requests.",
		}
	case version == "2017-03-01-preview", version == "2020-11-01-preview", versions.MatchString(version):
		return nil
	}
	return &rest.Error{
		Status: http.StatusBadRequest, Code: "InvalidApiVersionParameter", Target: "api-version",
		Message: fmt.Sprintf("The api-version %s is invalid. The supported versions are '2017-03-01-preview', '2020-11-01-preview' "+
			"and every date from 2021 to 2026, with or without '-preview'.", strconv.Quote(version)),
	}
}

// versionOf returns the api-version of a request, which the URLs in its answer have, too.
func versionOf(r *rest.Request) string {
	v, _ := r.Query.Get("api-version")
	return v
}
