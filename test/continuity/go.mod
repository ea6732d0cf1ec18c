module github.com/gohaul/haul/test/continuity

go 1.26.0

require (
	github.com/containerd/continuity v0.5.0
	github.com/gohaul/haul v0.0.0-00010101000000-000000000000
	pgregory.net/rapid v1.3.0
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/containerd/log v0.1.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sync v0.8.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/gohaul/haul => ../..
