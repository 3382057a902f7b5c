import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The build is the same on every machine: names come from contents, and nothing of the
// machine gets in. The hub replaces the nonce in each answer (see console.go).
export default defineConfig({
	plugins: [react()],
	html: { cspNonce: "HUB-CSP-NONCE" },
	build: {
		target: "es2022",
		assetsInlineLimit: 0, // the policy allows no data: scripts or fonts
		modulePreload: { polyfill: false },
		rolldownOptions: {
			output: {
				// What every screen needs compresses better in one file.
				codeSplitting: { groups: [{ name: "libraries", test: /node_modules\/(react|react-dom|scheduler|get-nonce|openapi-fetch|@floating-ui|@tanstack\/(react-router|router-core|history|store|react-store|query-core|react-query))\// }] },
				// The budget of the operators' side leaves out what only products' accounts load.
				chunkFileNames: ({ moduleIds }) => (moduleIds.length > 0 && moduleIds.every((id) => id.includes("/src/account/")) ? "assets/account-[name]-[hash].js" : "assets/[name]-[hash].js"),
			},
		},
		license: { fileName: "licenses.md" }, // of the packages that are in the build
		chunkSizeWarningLimit: 1000, // the test of the budget measures what is sent
	},
});
