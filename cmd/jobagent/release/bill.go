package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// billName is the bill of materials, in the format of CycloneDX (https://cyclonedx.org).
const billName = "jobagent.cdx.json"

// billOfMaterials writes which modules a binary has, with their licenses.
func (r *release) billOfMaterials(ctx context.Context, work, binary string) error {
	path := filepath.Join(work, billName)
	err := tool(ctx, "cyclonedx-gomod", "bin", "-json", "-licenses", "-noserial", "-version", "v"+r.source.Version, "-output", path, binary)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if text, err = stableBill(text, r.source.Time); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, billName), text, 0o644)
}

// stableBill returns a bill of materials without what differs from run to run: the time becomes the
// commit's, and the sums of the tool's executable are left out.
func stableBill(text []byte, stamp time.Time) ([]byte, error) {
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return nil, err
	}
	metadata, ok := bill["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("the bill has no metadata")
	}
	metadata["timestamp"] = stamp.Format(time.RFC3339)
	tools, ok := metadata["tools"].([]any)
	if !ok {
		return nil, errors.New("the bill lacks the tools")
	}
	for _, t := range tools {
		if t, ok := t.(map[string]any); ok {
			delete(t, "hashes")
		}
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	return append(text, '\n'), err
}
