package forms

import (
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// commands returns the same as a command: jobagent apply with the file that the preview shows.
func commands(want manifest.Object, calls []controldb.Call) []page.Equivalent {
	return page.CLI("apply", "-f", manifest.FileName(want.Name())+".yaml")
}
