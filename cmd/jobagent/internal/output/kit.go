package output

// KitDefinition is a definition of the maintenance kit.
type KitDefinition struct {
	Name     string   `json:"name"`
	RunsOn   string   `json:"runs_on"` // databases, servers or results
	Summary  string   `json:"summary"`
	Jobs     []string `json:"jobs"`
	Results  string   `json:"results"` // the table that keeps its results
	Rights   string   `json:"rights"`
	Versions string   `json:"versions"`
	Needs    string   `json:"needs,omitempty"` // what must be installed on the servers
}

// KitFiles is a definition of the maintenance kit with its files.
type KitFiles struct {
	KitDefinition
	Files []KitFile `json:"files"`
}

// KitFile is a file of a definition of the maintenance kit.
type KitFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// WrittenKit lists the files that jobagent kit write wrote.
type WrittenKit struct {
	Dir         string   `json:"dir"`
	Definitions []string `json:"definitions"`
	Files       []string `json:"files"`
	New         []string `json:"new"`     // files that were not there
	Changed     []string `json:"changed"` // files that had another text: of --replace
}
