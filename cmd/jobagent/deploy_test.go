package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
)

// deployed returns a file of the folder deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", name))
	require.NoError(t, err)
	return string(text)
}

// checkDeployedConfig requires a valid configuration that answers probes.
func checkDeployedConfig(t *testing.T, text string) config.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	file, err := config.Read(path)
	require.NoError(t, err)
	require.NoError(t, file.Metrics.Check())
	require.NotEmpty(t, file.Metrics.Listen)
	require.Len(t, file.Credentials, 1)
	require.NotEmpty(t, file.Credentials[0].Servers)
	return file
}

// unitSettings returns the settings of a unit of systemd by name.
func unitSettings(unit string) map[string][]string {
	settings := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]\w*)=(.*)$`).FindAllStringSubmatch(unit, -1) {
		settings[m[1]] = append(settings[m[1]], m[2])
	}
	return settings
}

// The units are valid, start commands that exist, hand over the secrets that their configurations
// name, and have few rights.
func TestDeployedUnits(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]string{
		"jobagent":       "60", // longer than the agent's grace period
		"jobagent-serve": "30", // longer than the front waits for requests under way
	} {
		unit := deployed(t, name+".service")
		settings := unitSettings(unit)
		start := strings.Fields(settings["ExecStart"][0])
		require.NoError(t, cli.Check(start[1:]))
		require.Equal(t, []string{"notify"}, settings["Type"])
		require.Equal(t, []string{stop}, settings["TimeoutStopSec"])
		// Else a panic and the watchdog end a Go program with exit code 2, which is not restarted.
		require.Equal(t, []string{"2 5"}, settings["RestartPreventExitStatus"])
		require.Equal(t, []string{"GOTRACEBACK=crash"}, settings["Environment"])
		// The user of the unit cannot read files of root.
		secrets := "/run/credentials/" + name + ".service/"
		require.Contains(t, start, secrets+name+".json")
		require.NotContains(t, settings["ExecStart"][0], "/etc/")
		handed := regexp.MustCompile(`"(?:file:)?(/[^"]*)"`).FindAllStringSubmatch(deployed(t, name+".json"), -1)
		require.NotEmpty(t, handed)
		for _, path := range append(handed, []string{"", secrets + name + ".json"}) {
			file, found := strings.CutPrefix(path[1], secrets)
			require.True(t, found, path[1])
			require.Contains(t, settings["LoadCredential"], file+":/etc/jobagent/"+file)
		}
		require.Len(t, settings["LoadCredential"], len(handed)+1)
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			t.Log("systemd-analyze is absent: install systemd to verify the settings of the units")
			continue
		}
		path := filepath.Join(t.TempDir(), name+".service")
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(unit, start[0], "/bin/true", 1)), 0o600))
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", path).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Empty(t, string(out), "warnings")
		// The threshold is ten times the exposure level.
		out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=15", path).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	checkDeployedConfig(t, deployed(t, "jobagent.json"))
}

// The front's configuration is valid: it lacks only the files that the unit hands over.
func TestDeployedFront(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(deployed(t, "jobagent-serve.json")), 0o600))
	file, err := config.Read(path)
	require.NoError(t, err)
	require.NoError(t, file.Metrics.Check())
	require.NoError(t, file.REST.Check())
}

// The image runs commands that exist, as a user without rights.
func TestDeployedContainer(t *testing.T) {
	t.Parallel()
	var names []string
	last := map[string]string{} // instruction to its latest arguments
	for line := range strings.Lines(deployed(t, "Containerfile")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, arguments, _ := strings.Cut(line, " ")
		require.Contains(t, []string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"}, name)
		names = append(names, name)
		last[name] = arguments
	}
	list := func(text string) (words []string) {
		require.NoError(t, json.Unmarshal([]byte(text), &words))
		return words
	}
	require.Equal(t, []string{"/jobagent"}, list(last["ENTRYPOINT"]))
	require.NoError(t, cli.Check(list(last["CMD"])))
	_, health, _ := strings.Cut(last["HEALTHCHECK"], "CMD ")
	probe := list(health)
	require.Equal(t, "/jobagent", probe[0])
	require.NoError(t, cli.Check(probe[1:]))
	require.NotRegexp(t, `^(root|0)\b`, last["USER"])
	require.Greater(t, slices.Index(names, "USER"), slices.Index(names, "FROM"))
	require.Contains(t, last["RUN"], "./cmd/jobagent")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, "../../go.mod"))[1]
	require.Contains(t, deployed(t, "Containerfile"), "FROM golang:"+version+".")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// deployment has the fields of the manifests that are checked.
type deployment struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				Containers                    []struct {
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					LivenessProbe  httpProbe `yaml:"livenessProbe"`
					ReadinessProbe httpProbe `yaml:"readinessProbe"`
					VolumeMounts   []struct {
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

type httpProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// The manifests start a command that exists, with a valid configuration, and ask the probes where
// the configuration has them.
func TestDeployedManifests(t *testing.T) {
	t.Parallel()
	var parts []deployment
	for text := range strings.SplitSeq(deployed(t, "kubernetes.yaml"), "\n---\n") {
		var d deployment
		require.NoError(t, yaml.Unmarshal([]byte(text), &d))
		parts = append(parts, d)
	}
	require.Len(t, parts, 2)
	require.Equal(t, "ConfigMap", parts[0].Kind)
	file := checkDeployedConfig(t, parts[0].Data["jobagent.json"])
	pod := parts[1].Spec.Template.Spec
	require.Greater(t, pod.TerminationGracePeriodSeconds, 30, "the agent's grace period")
	c := pod.Containers[0]
	require.NoError(t, cli.Check(c.Args))
	require.Contains(t, c.Args, c.VolumeMounts[0].MountPath+"/jobagent.json")
	require.True(t, strings.HasPrefix(file.DSN, "file:"+c.VolumeMounts[1].MountPath+"/"))
	require.Equal(t, "metrics", c.Ports[0].Name)
	require.Equal(t, file.Metrics.Listen, ":9464")
	require.Equal(t, 9464, c.Ports[0].ContainerPort)
	require.Equal(t, scrape.PathAlive, c.LivenessProbe.HTTPGet.Path)
	require.Equal(t, scrape.PathReady, c.ReadinessProbe.HTTPGet.Path)
	require.Equal(t, "metrics", c.ReadinessProbe.HTTPGet.Port)
}

// The chart's values have a valid configuration, for agents and, with the settings that the chart
// adds, for the front; its templates start commands that exist, with enough time to stop.
func TestDeployedChart(t *testing.T) {
	t.Parallel()
	var values struct {
		Config map[string]any
		Agent  struct {
			GraceSeconds int `yaml:"graceSeconds"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(deployed(t, "helm/values.yaml")), &values))
	text, err := json.Marshal(values.Config)
	require.NoError(t, err)
	file := checkDeployedConfig(t, string(text))
	require.NoError(t, file.REST.CheckAgent())
	require.Equal(t, ":9464", file.Metrics.Listen)

	front := deployed(t, "helm/templates/serve.yaml")
	require.Contains(t, front, `{{- $tls := dict "certificate" "/etc/jobagent/tls/tls.crt" "key" "/etc/jobagent/tls/tls.key" }}`)
	values.Config["rest"] = map[string]any{"listen": ":8443", "tls": map[string]any{"certificate": "/etc/jobagent/tls/tls.crt", "key": "/etc/jobagent/tls/tls.key"}}
	text, err = json.Marshal(values.Config)
	require.NoError(t, err)
	served := checkDeployedConfig(t, string(text))
	require.NoError(t, served.REST.Check())
	require.NoError(t, served.REST.CheckAgent())

	pod := deployed(t, "helm/templates/_helpers.tpl")
	require.Contains(t, pod, scrape.PathAlive)
	require.Contains(t, pod, scrape.PathReady)
	for _, reference := range []string{file.DSN, file.Credentials[0].Secret} {
		require.Regexp(t, "^file:/etc/jobagent/secrets/", reference)
	}
	require.Contains(t, pod, "mountPath: /etc/jobagent/secrets")

	agent := deployed(t, "helm/templates/agent.yaml")
	require.Contains(t, agent, "terminationGracePeriodSeconds: {{ add .Values.agent.graceSeconds 30 }}")
	require.Equal(t, 30, values.Agent.GraceSeconds)
	actions := regexp.MustCompile(`\{\{[^}]*\}\}`)
	for _, name := range []string{"agent", "serve", "migrate"} {
		args := regexp.MustCompile(`(?m)^\s*args: \[(.*)\]$`).FindStringSubmatch(deployed(t, "helm/templates/"+name+".yaml"))
		require.NotNil(t, args, name)
		for _, verb := range []string{"install", "migrate"} { // what an action stands for, where it stands for a command
			line := strings.ReplaceAll(args[1], `{{ ternary "install" "migrate" .Release.IsInstall | quote }}`, verb)
			var words []string
			for word := range strings.SplitSeq(actions.ReplaceAllString(line, "1"), ",") {
				words = append(words, strings.Trim(word, ` "`))
			}
			require.NoError(t, cli.Check(words), line)
		}
	}
}
