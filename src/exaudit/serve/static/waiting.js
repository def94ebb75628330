// An analysis that is being made: show the page again once it is there.
import { api } from "./api.js";
import { $, failed } from "./dom.js";
import { watch } from "./shell.js";

const box = $("waiting");
if (box) {
  try {
    await watch(await api(`/api/jobs/${box.dataset.job}`));
    location.reload();
  } catch (error) { failed(error); }
} else document.body.dataset.ready = "true";
