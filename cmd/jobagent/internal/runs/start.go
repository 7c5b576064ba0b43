package runs

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// CheckStart returns the parameters of a run with the declared types. It refuses a run that would
// lack parameters.
func CheckStart(job startcheck.Job, text string, typed []string, allowMissing bool) (string, error) {
	text, err := job.Typed(text, typed)
	if err != nil {
		return "", exit.Usage(err)
	}
	err = job.Check(text, allowMissing)
	var missing *parameters.MissingError
	switch {
	case errors.As(err, &missing):
		var flags []string
		for _, name := range missing.Names {
			flags = append(flags, "--param "+name+"=…")
		}
		return "", exit.Usagef("%w; give %s", err, strings.Join(flags, " "))
	case err != nil:
		return "", exit.Usage(err)
	}
	return text, nil
}
