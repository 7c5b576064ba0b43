// Package buildinfo has the version of this program.
package buildinfo

import (
	"runtime/debug"
)

// Version returns the version of this program: the module's version if it was installed by version,
// else the commit's hash.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
