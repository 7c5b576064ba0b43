package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/targets/secretref"
)

// CodeActions is the code of findings about what actions may do.
const CodeActions = "actions"

// examineActions examines the settings of actions in the configuration file, without connecting.
func examineActions(s *connect.Settings) ([]doctor.Finding, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	actions, err := connect.NewActions(cfg, buildinfo.Version(), false)
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	add := func(severity doctor.Severity, text, why, command string) {
		found = append(found, doctor.Finding{Code: CodeActions, Severity: severity, Found: text, Why: why, Command: command})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Secrets)) {
		if _, err := secretref.Read(cfg.Secrets[name].Reference); err != nil {
			add(doctor.SeverityError, fmt.Sprintf("the secret %s cannot be read: %v", name, err),
				"actions that name it fail before they send anything", "set what secrets."+name+" of the configuration file refers to")
		}
	}
	for _, entry := range actions.RefusedProcesses() {
		add(doctor.SeverityError, entry, "steps that name the process fail", "change the entry in processes of the configuration file")
	}
	for _, weakness := range actions.Weaknesses() {
		add(doctor.SeverityWarning, weakness, "others on the network can read or change requests", "change outbound in the configuration file")
	}
	if len(found) > 0 {
		return found, nil
	}
	var types []string
	for t := range actions.Runners {
		types = append(types, string(t))
	}
	slices.Sort(types)
	callbacks := "no callbacks"
	if cfg.Callbacks.Listen != "" || cfg.Callbacks.PublicURL != "" {
		callbacks = "callbacks"
	}
	add(doctor.SeverityOK, fmt.Sprintf("an agent with this configuration runs %s, with %s", strings.Join(types, ", "), callbacks), "", "")
	return found, nil
}
