package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// packages writes the packages for Debian and Red Hat of an architecture. They hold the binary, the
// units of systemd, which are not started, the manual, completions, and examples.
func (r *release) packages(ctx context.Context, work, arch, binary string, common []entry) error {
	config, err := r.packageConfig(work, arch, binary, common)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	path := filepath.Join(work, "nfpm_"+arch+".yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		target, err := filepath.Abs(filepath.Join(r.out, packageName(kind, arch)))
		if err != nil {
			return err
		}
		if err := tool(ctx, "nfpm", "package", "--config", path, "--packager", kind, "--target", target); err != nil {
			return err
		}
	}
	return nil
}

// packageName returns the name of a package, which is the same in each version.
func packageName(kind, arch string) string { return "jobagent_linux_" + arch + "." + kind }

// packageConfig is a configuration of nfpm (https://nfpm.goreleaser.com/docs/configuration/).
type packageConfig struct {
	Name        string            `yaml:"name"`
	Arch        string            `yaml:"arch"`
	Platform    string            `yaml:"platform"`
	Version     string            `yaml:"version"`
	Section     string            `yaml:"section"`
	Maintainer  string            `yaml:"maintainer"`
	Description string            `yaml:"description"`
	Homepage    string            `yaml:"homepage"`
	License     string            `yaml:"license"`
	ModTime     string            `yaml:"mtime"`
	RPM         map[string]string `yaml:"rpm"`
	Contents    []packageFile     `yaml:"contents"`
}

// packageFile is a file of a package.
type packageFile struct {
	Source   string       `yaml:"src,omitempty"`
	Target   string       `yaml:"dst"`
	Type     string       `yaml:"type,omitempty"`
	FileInfo packageOwner `yaml:"file_info"`
}

// packageOwner is the mode of a file, and the time of its last change.
type packageOwner struct {
	Mode    int    `yaml:"mode"`
	ModTime string `yaml:"mtime"`
}

// packageConfig returns what the packages of an architecture hold.
func (r *release) packageConfig(work, arch, binary string, common []entry) (packageConfig, error) {
	stamp := r.source.Time.Format(time.RFC3339)
	c := packageConfig{
		Name: "jobagent", Arch: arch, Platform: "linux", Version: r.source.Version, Section: "database",
		Maintainer:  "The jobagent authors <jobagent@users.noreply.github.com>",
		Description: "Runs T-SQL across many SQL Server databases\nJobs, schedules, target groups and roll-outs as in Azure SQL Elastic Jobs,\nwith a history in a control database.",
		Homepage:    "https://" + repository, License: "Apache-2.0", ModTime: stamp,
		RPM: map[string]string{"buildhost": "localhost"},
	}
	add := func(from, to string, mode int) {
		c.Contents = append(c.Contents, packageFile{Source: from, Target: to, FileInfo: packageOwner{Mode: mode, ModTime: stamp}})
	}
	c.Contents = append(c.Contents, packageFile{Target: "/etc/jobagent", Type: "dir", FileInfo: packageOwner{Mode: 0o700, ModTime: stamp}})
	add(binary, "/usr/bin/jobagent", 0o755)
	for _, e := range common {
		folder, name, _ := strings.Cut(e.name, "/")
		switch {
		case folder == "man":
			add(e.path, "/usr/share/man/man1/"+name, 0o644)
		case e.name == "completions/jobagent.bash":
			add(e.path, "/usr/share/bash-completion/completions/jobagent", 0o644)
		case e.name == "completions/jobagent.zsh":
			add(e.path, "/usr/share/zsh/vendor-completions/_jobagent", 0o644)
		case e.name == "completions/jobagent.fish":
			add(e.path, "/usr/share/fish/vendor_completions.d/jobagent.fish", 0o644)
		case folder == "completions":
		case folder == "deploy" && strings.HasSuffix(name, ".service"):
			unit, err := packagedUnit(work, e)
			if err != nil {
				return c, err
			}
			add(unit, "/usr/lib/systemd/system/"+name, 0o644)
		case e.name == "LICENSE":
			add(e.path, "/usr/share/doc/jobagent/copyright", 0o644)
		default:
			add(e.path, "/usr/share/doc/jobagent/"+strings.TrimPrefix(e.name, "deploy/"), 0o644)
		}
	}
	return c, nil
}

// packagedUnit writes a unit that starts the binary where packages put it.
func packagedUnit(work string, e entry) (path string, err error) {
	text, err := os.ReadFile(e.path)
	if err != nil {
		return "", err
	}
	const local, packaged = "ExecStart=/usr/local/bin/", "ExecStart=/usr/bin/"
	if !strings.Contains(string(text), local) {
		return "", fmt.Errorf("%s does not start %s", e.path, local)
	}
	path = filepath.Join(work, filepath.Base(e.path))
	return path, os.WriteFile(path, []byte(strings.Replace(string(text), local, packaged, 1)), 0o644)
}
