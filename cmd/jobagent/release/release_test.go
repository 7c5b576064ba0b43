package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var build = flag.Bool("release.build", false, "build the binary of the image, and start it")

// example is a release of small files in place of binaries.
func example(t *testing.T, platforms string) *release {
	t.Helper()
	return &release{
		out: filepath.Join(t.TempDir(), "out"), platforms: strings.Split(platforms, ","), skipTools: true,
		source: source{Commit: strings.Repeat("c0", 20), Version: "0.1.0", Time: time.Date(2026, 11, 28, 10, 20, 30, 0, time.UTC)},
		build: func(_ context.Context, platform, path string) error {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("binary for "+platform), 0o700)
		},
	}
}

// content returns the files of a folder.
func content(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	list, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		require.NoError(t, err)
		files[f.Name()] = string(text)
	}
	return files
}

// untar returns the files of an archive by name.
func untar(t *testing.T, archive io.Reader) (files map[string]string) {
	t.Helper()
	files = map[string]string{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NotContains(t, files, h.Name)
		files[h.Name] = string(text)
	}
}

// gunzip returns a reader of compressed text.
func gunzip(t *testing.T, text string) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	require.NoError(t, err)
	return r
}

// Two runs write the same bytes, wherever and whenever they run.
func TestReleaseIsReproducible(t *testing.T) {
	t.Chdir("../../..")
	one, two := example(t, allPlatforms), example(t, allPlatforms)
	require.NoError(t, one.write(t.Context()))
	require.NoError(t, two.write(t.Context()))
	require.Equal(t, content(t, one.out), content(t, two.out))
}

func TestRelease(t *testing.T) {
	t.Chdir("../../..")
	r := example(t, allPlatforms)
	require.NoError(t, r.write(t.Context()))
	files := content(t, r.out)

	archive := untar(t, gunzip(t, files["jobagent_linux_arm64.tar.gz"]))
	require.Equal(t, "binary for linux/arm64", archive["jobagent_linux_arm64/jobagent"])
	for _, name := range []string{
		"LICENSE", "README.md", "COMMANDS.md", "THIRD_PARTY_NOTICES", "deploy/jobagent.service", "deploy/dba/RUNBOOKS.md",
		"completions/jobagent.zsh", "completions/jobagent.powershell", "man/jobagent.1", "man/jobagent-job-start.1",
	} {
		require.NotEmpty(t, archive["jobagent_linux_arm64/"+name], name)
	}
	require.Contains(t, archive["jobagent_linux_arm64/man/jobagent-job-start.1"], "--wait")

	windows, err := zip.NewReader(strings.NewReader(files["jobagent_windows_amd64.zip"]), int64(len(files["jobagent_windows_amd64.zip"])))
	require.NoError(t, err)
	program, err := windows.Open("jobagent_windows_amd64/jobagent.exe")
	require.NoError(t, err)
	text, err := io.ReadAll(program)
	require.NoError(t, err)
	require.Equal(t, "binary for windows/amd64", string(text))

	// The sums are those of the files, and manifests have the sums of the archives that they name.
	sums := map[string]string{}
	for line := range strings.Lines(files["SHA256SUMS"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		require.Equal(t, "sha256:"+sum, digestOf([]byte(files[name])), name)
		sums[name] = sum
	}
	require.Len(t, sums, len(files)-2, "all but the sums and the provenance")
	address := "https://github.com/jobagent/jobagent/releases/download/v0.1.0/"
	for _, name := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		require.Contains(t, files["jobagent.rb"], fmt.Sprintf("url %q\n      sha256 %q", address+"jobagent_"+name+".tar.gz", sums["jobagent_"+name+".tar.gz"]))
	}
	var scoop struct {
		Version      string
		Architecture map[string]struct {
			URL, Hash string
			Folder    string `json:"extract_dir"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(files["jobagent.json"]), &scoop))
	require.Equal(t, "0.1.0", scoop.Version)
	require.Equal(t, address+"jobagent_windows_arm64.zip", scoop.Architecture["arm64"].URL)
	require.Equal(t, sums["jobagent_windows_arm64.zip"], scoop.Architecture["arm64"].Hash)
	require.Equal(t, "jobagent_windows_arm64", scoop.Architecture["arm64"].Folder)
	var winget struct {
		PackageVersion string `yaml:"PackageVersion"`
		Installers     []struct {
			Architecture string `yaml:"Architecture"`
			URL          string `yaml:"InstallerUrl"`
			Sum          string `yaml:"InstallerSha256"`
			Nested       []struct {
				Path string `yaml:"RelativeFilePath"`
			} `yaml:"NestedInstallerFiles"`
		} `yaml:"Installers"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(files["jobagent.jobagent.installer.yaml"]), &winget))
	require.Len(t, winget.Installers, 2)
	require.Equal(t, strings.ToUpper(sums["jobagent_windows_amd64.zip"]), winget.Installers[0].Sum)
	require.Equal(t, address+"jobagent_windows_amd64.zip", winget.Installers[0].URL)
	require.Equal(t, `jobagent_windows_amd64\jobagent.exe`, winget.Installers[0].Nested[0].Path)
	for _, name := range []string{"jobagent.jobagent.yaml", "jobagent.jobagent.locale.en-US.yaml"} {
		var m map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(files[name]), &m))
		require.Equal(t, "0.1.0", fmt.Sprint(m["PackageVersion"]))
	}

	var s statement
	require.NoError(t, json.Unmarshal([]byte(files["provenance.intoto.json"]), &s))
	require.Len(t, s.Subject, len(sums))
	require.Equal(t, sums[s.Subject[0].Name], s.Subject[0].Digest["sha256"])
	require.Equal(t, r.source.Commit, s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])
}

// A release for some platforms has no manifest that would name an archive of another one.
func TestReleaseForOnePlatform(t *testing.T) {
	t.Chdir("../../..")
	r := example(t, "linux/amd64")
	require.NoError(t, r.write(t.Context()))
	files := content(t, r.out)
	require.Contains(t, files, "jobagent_linux_amd64.tar.gz")
	require.NotContains(t, files, "jobagent.rb")
	require.NotContains(t, files, "jobagent.jobagent.installer.yaml")
	require.ErrorContains(t, r.write(t.Context()), "file exists")

	r.platforms = []string{"plan9/amd64"}
	require.ErrorContains(t, r.run(t.Context()), `invalid platform "plan9/amd64"`)
	r.out = ""
	require.ErrorContains(t, r.run(t.Context()), "want -out FOLDER")
}

// Packages start the binary where they put it, and own the folder of the configuration, which only
// root may read.
func TestPackageConfig(t *testing.T) {
	t.Chdir("../../..")
	r := example(t, "linux/amd64")
	work := t.TempDir()
	common, err := r.common(t.Context(), work)
	require.NoError(t, err)
	c, err := r.packageConfig(work, "amd64", "/x/jobagent", common)
	require.NoError(t, err)
	targets := map[string]packageFile{}
	for _, f := range c.Contents {
		require.NotContains(t, targets, f.Target)
		targets[f.Target] = f
	}
	require.Equal(t, "/x/jobagent", targets["/usr/bin/jobagent"].Source)
	require.Equal(t, 0o700, targets["/etc/jobagent"].FileInfo.Mode)
	for _, unit := range []string{"jobagent.service", "jobagent-serve.service"} {
		text, err := os.ReadFile(targets["/usr/lib/systemd/system/"+unit].Source)
		require.NoError(t, err)
		require.Contains(t, string(text), "\nExecStart=/usr/bin/jobagent ")
	}
	for _, target := range []string{
		"/usr/share/man/man1/jobagent-job-start.1", "/usr/share/bash-completion/completions/jobagent", "/usr/share/doc/jobagent/copyright",
		"/usr/share/doc/jobagent/dba/README.md", "/usr/share/doc/jobagent/jobagent.json",
	} {
		require.Contains(t, targets, target)
	}
}

// A bill of materials depends on the commit only.
func TestStableBill(t *testing.T) {
	t.Parallel()
	stamp := time.Date(2026, 11, 28, 10, 20, 30, 0, time.UTC)
	text, err := stableBill([]byte(`{"metadata": {"timestamp": "2027-01-01T00:00:00Z", "tools": [{"name": "t", "hashes": [{"alg": "MD5"}]}]}, "components": [{"name": "c"}]}`), stamp)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata": {"timestamp": "2026-11-28T10:20:30Z", "tools": [{"name": "t"}]}, "components": [{"name": "c"}]}`, string(text))
	for _, bad := range []string{`{}`, `{"metadata": {}}`, `[`} {
		_, err := stableBill([]byte(bad), stamp)
		require.Error(t, err)
	}
}

// unpack returns the layers of an image for an architecture, and its configuration.
func unpack(t *testing.T, image map[string]string, arch string) (layers []string, config imageConfig) {
	t.Helper()
	read := func(d descriptor, value any) string {
		text := image["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		require.Equal(t, d.Digest, digestOf([]byte(text)))
		require.Len(t, text, d.Size)
		if value != nil {
			require.NoError(t, json.Unmarshal([]byte(text), value))
		}
		return text
	}
	require.JSONEq(t, `{"imageLayoutVersion": "1.0.0"}`, image["oci-layout"])
	var outer, index imageIndex
	require.NoError(t, json.Unmarshal([]byte(image["index.json"]), &outer))
	require.Equal(t, "0.1.0", outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	read(outer.Manifests[0], &index)
	for _, d := range index.Manifests {
		if d.Platform.Architecture != arch {
			continue
		}
		var manifest imageManifest
		read(d, &manifest)
		read(manifest.Config, &config)
		for i, l := range manifest.Layers {
			plain, err := io.ReadAll(gunzip(t, read(l, nil)))
			require.NoError(t, err)
			require.Equal(t, config.RootFS.DiffIDs[i], digestOf(plain))
			layers = append(layers, string(plain))
		}
	}
	require.Len(t, layers, 2)
	return layers, config
}

// The image has the binary of its architecture, authorities, and a user without rights.
func TestImage(t *testing.T) {
	t.Chdir("../../..")
	r := example(t, "linux/amd64,linux/arm64")
	require.NoError(t, r.write(t.Context()))
	image := untar(t, strings.NewReader(content(t, r.out)[imageName]))
	for _, arch := range []string{"amd64", "arm64"} {
		layers, config := unpack(t, image, arch)
		require.Equal(t, arch, config.Architecture)
		require.Equal(t, imageUser+":"+imageUser, config.Config.User)
		system := untar(t, strings.NewReader(layers[0]))
		require.Greater(t, strings.Count(system["etc/ssl/certs/ca-certificates.crt"], "BEGIN CERTIFICATE"), 100)
		require.Contains(t, system["etc/passwd"], ":"+imageUser+":")
		require.Equal(t, map[string]string{"jobagent": "binary for linux/" + arch}, untar(t, strings.NewReader(layers[1])))
	}
}

// The binary starts with nothing but what the image holds.
func TestImageStarts(t *testing.T) {
	if !*build {
		t.Skip("compiles everything for the image, for minutes: -release.build runs it, as .github/workflows/nightly.yml does")
	}
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("changing the root directory needs root on Linux")
	}
	t.Chdir("../../..")
	r := example(t, "linux/"+runtime.GOARCH)
	r.build = buildBinary
	require.NoError(t, r.write(t.Context()))
	layers, config := unpack(t, untar(t, strings.NewReader(content(t, r.out)[imageName])), runtime.GOARCH)
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	for _, l := range layers {
		for archive := tar.NewReader(strings.NewReader(l)); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			path := filepath.Join(root, h.Name)
			if h.Typeflag == tar.TypeDir {
				require.NoError(t, os.MkdirAll(path, fs.FileMode(h.Mode).Perm()))
				continue
			}
			text, err := io.ReadAll(archive)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, text, fs.FileMode(h.Mode).Perm()))
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "control schema"},
		{[]string{"schedule", "preview", "--cron5", "0 2 * * *", "--zone", "Europe/Berlin", "--start", "2030-01-01T00:00:00", "--limit", "1"}, "+01:00"},
		{config.Config.Cmd, "/etc/jobagent/jobagent.json"}, // it is missing here
	} {
		cmd := exec.CommandContext(t.Context(), config.Config.Entrypoint[0], c.args...)
		cmd.Env, cmd.Dir = config.Config.Env, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // the text says how it ended
		require.Contains(t, out.String(), c.want, c.args)
	}
}
