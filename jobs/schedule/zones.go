package schedule

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// ZoneInfo describes a time zone at an instant.
type ZoneInfo struct {
	// Name is the IANA name, and Windows the Windows name that is resolved to it; empty means none.
	Name, Windows string
	// Abbreviation is the zone's own name of its present time, such as CEST, or an offset.
	Abbreviation string
	// Offset is the number of seconds that the clocks are ahead of UTC.
	Offset int
	// Change is the next instant at which the offset changes, to NextOffset; zero means that none
	// is known within twenty years.
	Change     time.Time
	NextOffset int
}

// WindowsZones returns the Windows names of time zones, sorted. The caller must not change them.
func WindowsZones() []string { return syntax.WindowsZones() }

// zoneHorizon bounds the search for a zone's next change. No zone has announced a change beyond the
// few years for which the IANA data lists them, and periodic changes come every year.
const zoneHorizon = 20 * 366 * 24 * time.Hour

// ZonesAt returns all zones that a schedule can have, sorted by their names, as they are at an
// instant. Zones of which this machine has no rules are left out.
func ZonesAt(at time.Time) []ZoneInfo {
	var list []ZoneInfo
	for _, name := range Zones() {
		zone, err := LoadZone(name)
		if err != nil {
			continue // an abbreviation
		}
		z := ZoneInfo{Name: name, Windows: syntax.WindowsZone(name)}
		z.Abbreviation, z.Offset = at.In(zone).Zone()
		z.NextOffset = z.Offset
		until := at.Add(zoneHorizon).Unix()
		for s := engine.SegmentAt(zone, at.Unix()); s.End < until; s = engine.SegmentAt(zone, s.End) {
			next := time.Unix(s.End, 0)
			if _, offset := next.In(zone).Zone(); offset != z.Offset {
				z.Change, z.NextOffset = next.UTC(), offset
				break
			}
		}
		list = append(list, z)
	}
	return list
}

// ParseOffset parses an offset from UTC: "+01:00", "-0530", "+1" or "Z". It returns seconds.
func ParseOffset(text string) (int, error) { return syntax.ParseOffset(text) }

// zoneFolders are the folders in which package time looks for zones (time/zoneinfo_unix.go).
var zoneFolders = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}

// ZoneData returns a text for people that names the source of this machine's zone rules, and its
// version if the source has one: "2025b of /usr/share/zoneinfo". It does not take part in Engine,
// because sources with other versions may have the same rules.
var ZoneData = sync.OnceValue(func() string {
	folders := zoneFolders
	if set := os.Getenv("ZONEINFO"); set != "" {
		folders = append([]string{set}, folders...)
	} else if runtime.GOOS == "windows" {
		folders = nil
	}
	return zoneData(folders)
})

// zoneData returns the text of ZoneData for the folders that package time would search.
func zoneData(folders []string) string {
	for _, folder := range folders {
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			continue
		case !info.IsDir(): // ZONEINFO may name a zip file
			return folder
		}
		if _, err := os.Stat(filepath.Join(folder, "Europe", "Berlin")); err != nil {
			continue
		}
		if version := zoneVersion(folder); version != "" {
			return version + " of " + folder
		}
		return folder
	}
	return "time/tzdata of " + runtime.Version()
}

// zoneVersion returns the version of the zone data in a folder: the first line of tzdata.zi (IANA's
// distribution) is "# version 2025b", and the file +VERSION (macOS, FreeBSD) holds it alone.
func zoneVersion(folder string) string {
	for _, source := range []struct{ name, prefix string }{{"tzdata.zi", "# version "}, {"+VERSION", ""}} {
		file, err := os.Open(filepath.Join(folder, source.name)) //nolint:gosec // a fixed name in the folder of the zone data
		if err != nil {
			continue
		}
		line, _ := bufio.NewReader(io.LimitReader(file, 100)).ReadString('\n')
		_ = file.Close()
		version, ok := strings.CutPrefix(strings.TrimSpace(line), source.prefix)
		if ok && version != "" && len(version) < 20 {
			return version
		}
	}
	return ""
}
