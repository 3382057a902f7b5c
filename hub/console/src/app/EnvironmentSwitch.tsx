import { SegmentedControl } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Environment } from "../api/client";
import { useLanguage } from "../i18n";

/** EnvironmentSwitch chooses live or test data. The choice is in the URL; live is the default. */
export function EnvironmentSwitch() {
	const { t } = useLanguage();
	const navigate = useNavigate();
	const { environment } = useSearch({ strict: false });
	return (
		<SegmentedControl
			size="xs"
			aria-label={t.app.environment}
			value={environment ?? "live"}
			onChange={(value) => void navigate({ to: ".", search: (search) => ({ ...search, environment: value === "test" ? "test" : undefined }) })}
			data={[
				{ value: "live", label: t.app.live },
				{ value: "test", label: t.app.test },
			]}
		/>
	);
}

/** useEnvironment returns the environment that the screen shows. */
export function useEnvironment(): Environment {
	return useSearch({ strict: false }).environment ?? "live";
}
