// Command chart renders the Helm chart of jobagent with several values, as helm template does, and
// decodes each object strictly into the type of Kubernetes that it names: an unknown field, a wrong
// type and a field that is given twice are errors.
//
// It is a module of its own, because nothing else needs the libraries of Helm and Kubernetes. Run it
// by bash .ci/chart/run.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// cases are values, as helm's --set takes them, and the kinds of objects that they yield.
var cases = []struct {
	values map[string]any
	kinds  string
}{
	{nil, "ConfigMap Deployment Job NetworkPolicy PodDisruptionBudget ServiceAccount"},
	{map[string]any{
		"serve":            map[string]any{"enabled": true, "nodeSelector": map[string]any{"pool": "web"}},
		"agent":            map[string]any{"autoscaling": map[string]any{"enabled": true}, "tolerations": []any{map[string]any{"key": "sql", "operator": "Exists"}}},
		"podLabels":        map[string]any{"azure.workload.identity/use": "true"},
		"serviceAccount":   map[string]any{"annotations": map[string]any{"azure.workload.identity/client-id": "0"}},
		"image":            map[string]any{"digest": "sha256:" + strings.Repeat("0", 64)},
		"imagePullSecrets": []any{map[string]any{"name": "registry"}},
	}, "ConfigMap ConfigMap Deployment Deployment HorizontalPodAutoscaler Job NetworkPolicy PodDisruptionBudget PodDisruptionBudget Service ServiceAccount"},
	{map[string]any{
		"migrate":       map[string]any{"enabled": false},
		"networkPolicy": map[string]any{"enabled": false},
		"agent":         map[string]any{"disruptionBudget": map[string]any{"enabled": false}},
	}, "ConfigMap Deployment ServiceAccount"},
}

func main() {
	for i, c := range cases {
		if err := check(c.values, c.kinds); err != nil {
			fmt.Fprintf(os.Stderr, "error: values %d: %v\n", i+1, err)
			os.Exit(1)
		}
	}
	fmt.Printf("the chart is valid with %d sets of values\n", len(cases))
}

// check renders the chart with values, and decodes what comes out.
func check(values map[string]any, want string) error {
	chart, err := loader.Load(os.Args[1])
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "prod", Namespace: "jobs", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return err
	}
	texts, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for text := range strings.SplitSeq(texts[name], "\n---\n") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			_, kind, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", name, err, text)
			}
			kinds = append(kinds, kind.Kind)
			if os.Getenv("CHART_PRINT") != "" { // to look at
				fmt.Println("---\n" + text)
			}
		}
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, " "); got != want {
		return fmt.Errorf("the chart has %s; want %s", got, want)
	}
	return nil
}
