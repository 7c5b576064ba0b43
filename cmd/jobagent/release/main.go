// Command release builds the files of a release: archives for Linux, macOS and Windows, packages
// for Debian and Red Hat, an image for containers, manifests for Homebrew, Scoop and WinGet, a bill
// of materials, the SHA-256 sums, and a statement of provenance (RELEASE.md).
//
//	go run ./cmd/jobagent/release -out FOLDER [-platforms linux/amd64,…] [-skip-tools]
//
// Two runs on one commit write the same bytes: times are the commit's, and nothing names the
// machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// allPlatforms are those of a release, as Go names them.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var r release
	var platforms string
	flag.StringVar(&r.out, "out", "", "folder for the files, which must not exist")
	flag.StringVar(&platforms, "platforms", allPlatforms, "platforms to build for, separated by commas")
	flag.BoolVar(&r.skipTools, "skip-tools", false, "write no packages and no bill of materials, which need other programs (.ci/tool)")
	flag.Parse()
	r.platforms = strings.Split(platforms, ",")
	if err := r.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// release is what one run builds.
type release struct {
	out       string
	platforms []string // GOOS/GOARCH
	skipTools bool

	source source
	// build writes the binary of a platform to a path. Tests replace it.
	build func(ctx context.Context, platform, path string) error
}

// source is the commit that is built.
type source struct {
	Commit  string
	Version string    // without v, such as 0.1.0
	Time    time.Time // of the commit
}

// run builds all files.
func (r *release) run(ctx context.Context) (err error) {
	if r.out == "" {
		return errors.New("no folder: want -out FOLDER")
	}
	for _, p := range r.platforms {
		if !strings.Contains(","+allPlatforms+",", ","+p+",") {
			return fmt.Errorf("invalid platform %q: want some of %s", p, allPlatforms)
		}
	}
	if r.source, err = readSource(ctx); err != nil {
		return err
	}
	r.build = buildBinary
	return r.write(ctx)
}

// write writes all files, once the source is known.
func (r *release) write(ctx context.Context) error {
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return fmt.Errorf("create the folder of the release: %w", err)
	}
	work, err := os.MkdirTemp("", "jobagent-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	common, err := r.common(ctx, work)
	if err != nil {
		return err
	}
	var images []platformImage
	for _, platform := range r.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		binary := filepath.Join(work, system+"_"+arch, binaryName(system))
		if err := r.build(ctx, platform, binary); err != nil {
			return fmt.Errorf("build for %s: %w", platform, err)
		}
		if err := r.archive(system, arch, binary, common); err != nil {
			return err
		}
		if system != "linux" {
			continue
		}
		images = append(images, platformImage{arch: arch, binary: binary})
		if !r.skipTools {
			if err := r.packages(ctx, work, arch, binary, common); err != nil {
				return err
			}
		}
	}
	if len(images) > 0 {
		if err := writeImage(filepath.Join(r.out, imageName), r.source, images); err != nil {
			return fmt.Errorf("write the image: %w", err)
		}
	}
	if len(images) > 0 && !r.skipTools {
		if err := r.billOfMaterials(ctx, work, images[0].binary); err != nil {
			return fmt.Errorf("write the bill of materials: %w", err)
		}
	}
	return r.describe()
}

// binaryName returns the name of the binary on an operating system.
func binaryName(system string) string {
	if system == "windows" {
		return "jobagent.exe"
	}
	return "jobagent"
}

// archiveName returns the name of an archive, which is the same in each version: the newest release
// has it below …/releases/latest/download/.
func archiveName(system, arch string) string {
	if system == "windows" {
		return folderName(system, arch) + ".zip"
	}
	return folderName(system, arch) + ".tar.gz"
}

// folderName returns the name of the only folder in an archive.
func folderName(system, arch string) string { return "jobagent_" + system + "_" + arch }

// readSource describes the commit that is checked out.
func readSource(ctx context.Context) (s source, err error) {
	if s.Commit, err = output(ctx, "git", "rev-parse", "HEAD"); err != nil {
		return s, err
	}
	date, err := output(ctx, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return s, err
	}
	if s.Time, err = time.Parse(time.RFC3339, date); err != nil {
		return s, err
	}
	s.Time = s.Time.UTC()
	tag, err := output(ctx, "git", "describe", "--tags", "--exact-match", "--match", "v*")
	if err != nil { // no tag
		tag = fmt.Sprintf("v0.0.0-%s.%s", s.Time.Format("20060102150405"), s.Commit[:12])
	}
	s.Version = strings.TrimPrefix(tag, "v")
	return s, nil
}

func buildBinary(ctx context.Context, platform, path string) error {
	system, arch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid=", "-o", path, "./cmd/jobagent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// output runs a program and returns what it prints, without white space around it.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// common returns what archives of all platforms have beside the binary.
func (r *release) common(ctx context.Context, work string) (entries []entry, err error) {
	for _, name := range []string{"LICENSE", "README.md", "cmd/jobagent/COMMANDS.md", "cmd/jobagent/SETTINGS.md", "cmd/jobagent/internal/cli/about/THIRD_PARTY_NOTICES"} {
		entries = append(entries, entry{name: filepath.Base(name), path: name, mode: 0o644})
	}
	err = filepath.WalkDir("cmd/jobagent/deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel("cmd/jobagent", path)
		entries = append(entries, entry{name: filepath.ToSlash(name), path: path, mode: 0o644})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := writeManual(filepath.Join(work, "man"), r.source.Time); err != nil {
		return nil, fmt.Errorf("write the manual: %w", err)
	}
	if err := writeCompletions(filepath.Join(work, "completions")); err != nil {
		return nil, fmt.Errorf("write completions: %w", err)
	}
	for _, folder := range []string{"completions", "man"} {
		files, err := os.ReadDir(filepath.Join(work, folder)) // in order of names
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			entries = append(entries, entry{name: folder + "/" + f.Name(), path: filepath.Join(work, folder, f.Name()), mode: 0o644})
		}
	}
	return entries, ctx.Err()
}

// archive writes the archive of a platform.
func (r *release) archive(system, arch, binary string, common []entry) error {
	entries := []entry{{name: filepath.Base(binary), path: binary, mode: 0o755}}
	entries = append(entries, common...)
	for i := range entries {
		entries[i].name = folderName(system, arch) + "/" + entries[i].name
	}
	path := filepath.Join(r.out, archiveName(system, arch))
	write := writeTarGz
	if system == "windows" {
		write = writeZip
	}
	if err := write(path, r.source.Time, entries); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// tool runs a program that .ci/tool pins.
func tool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, "bash", append([]string{".ci/tool", name}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, cmp.Or(strings.TrimSpace(string(out)), "no output"))
	}
	return nil
}
